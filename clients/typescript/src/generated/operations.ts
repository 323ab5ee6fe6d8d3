// Written by scripts/typescript.py: make client-typescript. Change what it reads, not this.

import type { Pages } from "../pages.js";
import type { Answer, Body, Given, Operation } from "../types.js";

/** Where each operation is, and where its arguments go. */
export const OPERATIONS = {
  add: { method: "POST", path: "/v1/memories", positions: ["content"], once: true },
  addMany: { method: "POST", path: "/v1/memories/batch", positions: ["memories"], once: true },
  approve: { method: "POST", path: "/v1/proposals/{id}/approve", positions: ["id"], once: true },
  archive: { method: "POST", path: "/v1/memories/{id}/archive", positions: ["id"], once: true },
  audit: { method: "GET", path: "/v1/audit", positions: [] },
  backfillEmbeddings: { method: "POST", path: "/v1/settings/embeddings/backfill", positions: [], once: true },
  blockSender: { method: "PUT", path: "/v1/blocked-senders/{sender}", positions: ["sender"], once: true },
  blockedSenders: { method: "GET", path: "/v1/blocked-senders", positions: [] },
  callTool: { method: "POST", path: "/v1/tools/{name}", positions: ["name"], once: true },
  changes: { method: "GET", path: "/v1/changes", positions: ["since"] },
  checkpoints: { method: "GET", path: "/v1/checkpoints", positions: [], paged: true },
  compact: { method: "POST", path: "/v1/threads/{thread}/compact", positions: ["thread"], lengthy: true, once: true },
  consolidate: { method: "POST", path: "/v1/consolidate", positions: [], lengthy: true, once: true },
  context: { method: "POST", path: "/v1/context", positions: ["message"] },
  counters: { method: "GET", path: "/v1/counters", positions: [] },
  createWebhook: { method: "POST", path: "/v1/webhooks", positions: ["url"], once: true },
  daily: { method: "GET", path: "/v1/activity/daily", positions: [] },
  dayLog: { method: "GET", path: "/v1/log", positions: ["day"] },
  deleteCheckpoint: { method: "DELETE", path: "/v1/checkpoints/{thread}", positions: ["thread"], headers: {"if_match": "if-match"}, once: true },
  deleteWebhook: { method: "DELETE", path: "/v1/webhooks/{id}", positions: ["id"], once: true },
  describeTheme: { method: "PATCH", path: "/v1/themes/{theme}", positions: ["theme"], once: true },
  embeddingStates: { method: "POST", path: "/v1/settings/embeddings/states", positions: ["ids"] },
  embeddingStatus: { method: "GET", path: "/v1/settings/embeddings", positions: [] },
  events: { method: "GET", path: "/v1/events", positions: [], paged: true },
  feedback: { method: "POST", path: "/v1/feedback", positions: ["recalled"], once: true },
  fillEmbeddings: { method: "POST", path: "/v1/settings/embeddings/fill", positions: [], answers: "made", lengthy: true, once: true },
  forget: { method: "POST", path: "/v1/memories/forget", positions: ["id"], once: true },
  form: { method: "POST", path: "/v1/form", positions: ["thread"], lengthy: true, once: true },
  formedTurns: { method: "GET", path: "/v1/threads/{thread_id}/formed", positions: ["thread_id"], paged: true },
  get: { method: "GET", path: "/v1/memories/{id}", positions: ["id"] },
  getMany: { method: "POST", path: "/v1/memories/get", positions: ["ids"] },
  grants: { method: "GET", path: "/v1/grants", positions: [] },
  groups: { method: "GET", path: "/v1/groups", positions: [] },
  history: { method: "GET", path: "/v1/memories/{id}/history", positions: ["id"] },
  lineage: { method: "GET", path: "/v1/memories/{id}/lineage", positions: ["id"] },
  link: { method: "PUT", path: "/v1/memories/{id}/links/{with_user}", positions: ["id", "with_user"], once: true },
  links: { method: "GET", path: "/v1/memories/{id}/links", positions: ["id"] },
  linksOf: { method: "POST", path: "/v1/memories/links", positions: ["ids"], once: true },
  list: { method: "GET", path: "/v1/memories", positions: [], paged: true },
  listTools: { method: "GET", path: "/v1/tools", positions: [] },
  loadCheckpoint: { method: "GET", path: "/v1/checkpoints/{thread}", positions: ["thread"], tagged: true },
  members: { method: "GET", path: "/v1/groups/{group}/members", positions: ["group"] },
  merge: { method: "POST", path: "/v1/memories/merge", positions: ["ids", "content"], once: true },
  observe: { method: "POST", path: "/v1/threads/{thread}/turns", positions: ["messages"], once: true },
  pin: { method: "POST", path: "/v1/memories/{id}/pin", positions: ["id", "pinned"], once: true },
  projects: { method: "GET", path: "/v1/projects", positions: [] },
  proposals: { method: "GET", path: "/v1/proposals", positions: [], paged: true },
  purge: { method: "POST", path: "/v1/memories/purge", positions: [], answers: "purged", once: true },
  query: { method: "POST", path: "/v1/query", positions: ["query"] },
  rate: { method: "POST", path: "/v1/memories/{id}/rate", positions: ["id", "verdict"], once: true },
  rebuildEmbeddings: { method: "POST", path: "/v1/settings/embeddings/rebuild", positions: [], once: true },
  redact: { method: "POST", path: "/v1/threads/{thread_id}/turns/{position}/redaction", positions: ["thread_id", "position"], once: true },
  reject: { method: "POST", path: "/v1/proposals/{id}/reject", positions: ["id"], once: true },
  related: { method: "GET", path: "/v1/memories/{id}/related", positions: ["id"] },
  relationGraph: { method: "GET", path: "/v1/graph", positions: ["theme"] },
  removeMember: { method: "DELETE", path: "/v1/groups/{group}/members/{member}", positions: ["group", "member"] },
  resetEmbeddings: { method: "DELETE", path: "/v1/settings/embeddings", positions: [], once: true },
  restore: { method: "POST", path: "/v1/memories/{id}/restore", positions: ["id"], once: true },
  resume: { method: "POST", path: "/v1/threads/{thread}/resume", positions: ["thread"], lengthy: true, once: true },
  revision: { method: "GET", path: "/v1/revision", positions: [], answers: "revision" },
  revokeGrant: { method: "DELETE", path: "/v1/grants/{id}", positions: ["id"], once: true },
  rotateWebhookSecret: { method: "POST", path: "/v1/webhooks/{id}/secret", positions: ["id"], once: true },
  saveCheckpoint: { method: "PUT", path: "/v1/checkpoints/{thread}", positions: ["thread", "state"], body: "state", headers: {"if_match": "if-match", "if_none_match": "if-none-match"}, tagged: true, once: true },
  search: { method: "POST", path: "/v1/memories/search", positions: ["query"] },
  searchTurns: { method: "POST", path: "/v1/turns/search", positions: ["query"] },
  setEmbeddings: { method: "PUT", path: "/v1/settings/embeddings", positions: ["provider"], lengthy: true, once: true },
  setMember: { method: "PUT", path: "/v1/groups/{group}/members/{member}", positions: ["group", "member", "role"], once: true },
  sourceTurn: { method: "GET", path: "/v1/memories/{id}/source-turn", positions: ["id"] },
  summary: { method: "GET", path: "/v1/summary", positions: [] },
  testEmbeddings: { method: "POST", path: "/v1/settings/embeddings/test", positions: ["provider"], lengthy: true, once: true },
  testWebhook: { method: "POST", path: "/v1/webhooks/{id}/test", positions: ["id"], lengthy: true, once: true },
  themes: { method: "GET", path: "/v1/themes", positions: [] },
  thread: { method: "GET", path: "/v1/threads/{thread_id}/standing", positions: ["thread_id"] },
  threads: { method: "GET", path: "/v1/threads", positions: [], paged: true },
  turns: { method: "GET", path: "/v1/threads/{thread_id}/turns", positions: ["thread_id"], paged: true },
  unblockSender: { method: "DELETE", path: "/v1/blocked-senders/{sender}", positions: ["sender"], once: true },
  undo: { method: "POST", path: "/v1/memories/{id}/undo", positions: ["id"], once: true },
  unlink: { method: "DELETE", path: "/v1/memories/{id}/links/{with_user}", positions: ["id", "with_user"], once: true },
  updateUserProfile: { method: "PATCH", path: "/v1/profile", positions: ["fields"], once: true },
  updateWebhook: { method: "PATCH", path: "/v1/webhooks/{id}", positions: ["id"], once: true },
  upkeep: { method: "POST", path: "/v1/upkeep", positions: [], lengthy: true, once: true },
  userProfile: { method: "GET", path: "/v1/profile", positions: [] },
  verify: { method: "POST", path: "/v1/memories/{id}/verify", positions: ["id"], once: true },
  webhook: { method: "GET", path: "/v1/webhooks/{id}", positions: ["id"] },
  webhookDeliveries: { method: "GET", path: "/v1/webhooks/{id}/deliveries", positions: ["id"] },
  webhooks: { method: "GET", path: "/v1/webhooks", positions: [] },
  window: { method: "GET", path: "/v1/threads/{thread}/window", positions: ["thread"] },
} as const satisfies Record<string, Operation>;

/** What one user's memory can do. */
export interface UserOperations {
  /**
   * Remember something.
   *
   * The same text in the same theme is not written twice; the memory that is there counts as
   * recalled. With a `key`, what had that key is updated. With `supersedes`, the memory of
   * that id is closed and kept as history, and what is not given (theme, type, key, tags,
   * importance, pin) is taken from it.
   *
   * What an agent says, or comes with the source `conversation`, `tool_call` or
   * `auto_discovery`, is not what the user asked for: there, secrets are refused, and what is
   * sensitive or a standing wish is not stored but proposed to the user; with `supersedes`
   * it is refused.
   */
  add(content: Given<"add_memory">["content"], more?: Omit<Given<"add_memory">, "content">): Promise<Answer<"add_memory">>;

  /**
   * Add many memories, one transaction per batch; the result of each, in order.
   *
   * Every value is checked before anything is written. What can only be checked against what is
   * stored (a keyed statement that begins before the one it updates) stops its own batch. What
   * is there already counts as recalled.
   */
  addMany(memories: Given<"add_memories">["memories"], more?: Omit<Given<"add_memories">, "memories">): Promise<Answer<"add_memories">>;

  /**
   * Approve a proposal: store it, or accept what another user offers.
   */
  approve(id: Given<"approve">["id"], more?: Omit<Given<"approve">, "id">): Promise<Answer<"approve">>;

  /**
   * Archive a memory: it is kept, and found only on request.
   *
   * With `expected_updated_at` only in the state that has this `updated_at`.
   */
  archive(id: Given<"archive_memory">["id"], more?: Omit<Given<"archive_memory">, "id">): Promise<Answer<"archive_memory">>;

  /**
   * Check what is stored for duplicates, contradictions, junk, unverified and expired memories.
   *
   * It also lists what formation decided and why, the latest first. At most `limit` decisions and
   * findings of each kind are listed; the counts of findings are complete.
   */
  audit(more?: Given<"audit">): Promise<Answer<"audit">>;

  /**
   * Ask again for vectors that were given up or are of another model; a job makes them.
   */
  backfillEmbeddings(): Promise<Answer<"backfill_embeddings">>;

  /**
   * Block a user: what they have offered and shared ends, and they can offer
   * nothing new. Doing it again changes nothing.
   */
  blockSender(sender: Given<"block_sender">["sender"]): Promise<Answer<"block_sender">>;

  /**
   * List the blocked users, who can offer this one nothing.
   */
  blockedSenders(): Promise<Answer<"blocked_senders">>;

  /**
   * Call a tool with what a model wrote.
   *
   * A mistake of the model is an answer for it, with status 200 and `is_error`; a fault of the
   * service is a problem, as everywhere.
   */
  callTool(name: Given<"call_tool">["name"], more?: Omit<Given<"call_tool">, "name">): Promise<Answer<"call_tool">>;

  /**
   * List what changed after a revision, oldest first unless asked for in the other order.
   *
   * To go on, give the last revision that was read as `since`; from the newest on, as `before`.
   */
  changes(since?: Given<"list_changes">["since"], more?: Omit<Given<"list_changes">, "since">): Promise<Answer<"list_changes">>;

  /**
   * List what this user's programs have saved, latest first, without the states themselves.
   */
  checkpoints(more?: Given<"list_checkpoints">): Pages<Answer<"list_checkpoints">>;

  /**
   * Summarise all but the latest turns of a conversation, now.
   *
   * A job does that whenever a conversation has `window_turns` open turns. The turns stay
   * recorded and can be searched. Where the language model gives no usable answer, or none is
   * set, the summary is put together from what was said.
   */
  compact(thread: Given<"compact">["thread"]): Promise<Answer<"compact">>;

  /**
   * Merge duplicates, replace what is outdated, link what belongs together.
   *
   * Each pair of memories is looked at once in 14 days, and so many a day
   * (`consolidation_daily_pairs`). `dry_run` says what would be done without a language
   * model, and does nothing. Anything that was done can be undone (:meth:`undo`).
   */
  consolidate(more?: Given<"consolidate">): Promise<Answer<"consolidate">>;

  /**
   * A request to a model that knows this user: system text, earlier turns, the message.
   *
   * `modes` are one or more of `tools` (a guide to the memory tools and the themes there
   * are, nothing of what memories say), `recall` (the memories that matter for the message)
   * and `summary` (what is known of the user as one text). With a `thread` the request has
   * its latest turns, a summary of the earlier ones, and what changed in memory since the
   * thread began or last looked; without `history` only that, for callers who send the turns
   * of the conversation themselves; without `persona` neither `SOUL.md` nor `RULES.md`,
   * for callers who say themselves who the assistant is, and without `user_file` no
   * `USER.md`. `tools` are the schemas that the
   * caller sends along; they and `reply_tokens` are part of the budget, which is never
   * exceeded. One of them is suggested where nothing recalled is likely to answer the message.
   * Memories that are less sure than `threshold` are not shown. `agent` is who asks, None
   * for the agent of this scope or the user: nothing outside its allowlist is shown, and nothing
   * outside the categories of this scope, where it has any: then also no turns.
   *
   * A store that fails is no error: the prompt says that memory is unavailable.
   */
  context(message?: Given<"build_context">["message"], more?: Omit<Given<"build_context">, "message">): Promise<Answer<"build_context">>;

  /**
   * Count this user's memories and what happened to them.
   *
   * `days` counts only the last ones, today included.
   */
  counters(more?: Given<"read_counters">): Promise<Answer<"read_counters">>;

  /**
   * Have changes delivered to an address from now on, in order, as signed requests.
   *
   * The answer has the secret that receivers verify requests with; it is shown only this once. In
   * the scope of a project only its changes are delivered.
   */
  createWebhook(url: Given<"create_webhook">["url"], more?: Omit<Given<"create_webhook">, "url">): Promise<Answer<"create_webhook">>;

  /**
   * Show what happened on each of the last days (UTC): every one of them, today last.
   *
   * It counts this user's own memories. Recalls are written with some delay: those of the last
   * minute may still be missing.
   */
  daily(more?: Given<"read_daily">): Promise<Answer<"read_daily">>;

  /**
   * List what this user's conversations of a day were about; today if none is given.
   *
   * It has what was put into summaries: see :meth:`compact`. Days are those of the setting
   * `timezone`.
   */
  dayLog(day?: Given<"read_todays_log">["day"]): Promise<Answer<"read_todays_log">>;

  /**
   * Remove what was saved for a conversation.
   */
  deleteCheckpoint(thread: Given<"delete_checkpoint">["thread"], more?: { if_match?: string }): Promise<Answer<"delete_checkpoint">>;

  /**
   * End a webhook, and show it. What waited for it is not delivered.
   */
  deleteWebhook(id: Given<"delete_webhook">["id"]): Promise<Answer<"delete_webhook">>;

  /**
   * Change a theme's name, description and context policy.
   *
   * What the policy file says of it overrides them, also in the answer.
   */
  describeTheme(theme: Given<"describe_theme">["theme"], more?: Omit<Given<"describe_theme">, "theme">): Promise<Answer<"describe_theme">>;

  /**
   * How far the vector of each of these memories has come, in the order of the ids.
   *
   * What does not exist or is another user's is left out, and what has no vector where none are
   * made. Of memories that others share, only
   * the state is shown, not where their owner has vectors made.
   */
  embeddingStates(ids: Given<"read_embedding_states">["ids"]): Promise<Answer<"read_embedding_states">>;

  /**
   * Show where vectors are computed, who chose that, and the progress.
   */
  embeddingStatus(): Promise<Answer<"read_embeddings">>;

  /**
   * List the steps of background work for this user, or for one conversation, latest first.
   */
  events(more?: Given<"list_events">): Pages<Answer<"list_events">>;

  /**
   * Say which of the memories that a prompt showed an answer used.
   *
   * Either name them (`used`), or give the `answer`: then those count of whose words it has
   * at least half. What was used counts as recalled once more, and the share of it is counted as
   * `retrieval_hit_rate`.
   */
  feedback(recalled: Given<"give_feedback">["recalled"], more?: Omit<Given<"give_feedback">, "recalled">): Promise<Answer<"give_feedback">>;

  /**
   * Make the vectors that wait now, in this thread; how many were made.
   *
   * `progress` is called with the number done and the total. It can be stopped anywhere
   * and goes on with the next call, or with the job that does the same.
   */
  fillEmbeddings(): Promise<Answer<"fill_embeddings">["made"]>;

  /**
   * Soft-delete a memory by id, or what has a key (in one theme, or in all).
   *
   * It is gone from every read, can be restored for a while, and is then removed for good. By id
   * with `expected_updated_at` only in the state that has this `updated_at`.
   */
  forget(id?: Given<"forget_key">["id"], more?: Omit<Given<"forget_key">, "id">): Promise<Answer<"forget_key">>;

  /**
   * Form memories now from what is new in a conversation, or in all of them.
   *
   * Each turn is formed once. With a language model set (`model_provider`) it does the
   * reading, without one rules do. What is sensitive becomes a proposal, unless the user asked
   * for it to be remembered.
   */
  form(thread?: Given<"form">["thread"]): Promise<Answer<"form">>;

  /**
   * List the turns of a conversation in order, each with the memories that came from it.
   *
   * The memories are those of `source_turn`, also archived and superseded ones, the oldest
   * first. With `from_position` the first page begins at that turn.
   */
  formedTurns(threadId: Given<"list_formed_turns">["thread_id"], more?: Omit<Given<"list_formed_turns">, "thread_id">): Pages<Answer<"list_formed_turns">>;

  /**
   * One memory.
   */
  get(id: Given<"get_memory">["id"], more?: Omit<Given<"get_memory">, "id">): Promise<Answer<"get_memory">>;

  /**
   * Those of some memories that `get` would find, in the order of the ids, each once.
   *
   * What does not exist, has expired or is another user's is left out.
   */
  getMany(ids: Given<"get_memories">["ids"], more?: Omit<Given<"get_memories">, "ids">): Promise<Answer<"get_memories">>;

  /**
   * The programs that this user let in by signing in with OAuth, the newest first, with what
   * each may do.
   */
  grants(): Promise<Answer<"list_grants">>;

  /**
   * The groups that this user is in, and as what, by name.
   */
  groups(): Promise<Answer<"list_my_groups">>;

  /**
   * Show what happened to a memory, oldest first; also for one that was purged.
   */
  history(id: Given<"memory_history">["id"], more?: Omit<Given<"memory_history">, "id">): Promise<Answer<"memory_history">>;

  /**
   * Show what replaced a memory, what it replaced, and what `undo` would take back.
   *
   * Also of one that was forgotten or has expired. What this scope does not reach is not named.
   * Memories that others share have no history here.
   */
  lineage(id: Given<"memory_lineage">["id"]): Promise<Answer<"memory_lineage">>;

  /**
   * Offer a memory to another user, who sees it once they have accepted it.
   *
   * They find the offer among their proposals. It is accepted at once where the operator has
   * approved that these two share, unless the other user blocks this one or turned it down.
   */
  link(id: Given<"link_memory">["id"], withUser: Given<"link_memory">["with_user"]): Promise<Answer<"link_memory">>;

  /**
   * The users whom a memory of this user is shared with or only offered to, by name.
   */
  links(id: Given<"memory_links">["id"]): Promise<Answer<"memory_links">>;

  /**
   * The users whom some memories of this user are shared with or only offered to, in the order of
   * the ids.
   *
   * What does not exist, has expired or is another user's is left out.
   */
  linksOf(ids: Given<"list_links">["ids"]): Promise<Answer<"list_links">>;

  /**
   * A page of memories, newest first unless sorted otherwise.
   *
   * The filters are the fields of `ItemFilter`, e.g. `theme="work"`, `contains="tea"`,
   * `status="any"`. Unknown ones are refused.
   */
  list(more?: Given<"list_memories">): Pages<Answer<"list_memories">>;

  /**
   * List the tools of some sets, as a model is told of them, with a guide for its prompt.
   */
  listTools(more?: Given<"list_tools">): Promise<Answer<"list_tools">>;

  /**
   * Read the state of a conversation that was saved last.
   */
  loadCheckpoint(thread: Given<"load_checkpoint">["thread"]): Promise<Answer<"load_checkpoint"> & { etag: string }>;

  /**
   * List the members of a group of this user, with their roles.
   */
  members(group: Given<"list_group_members">["group"]): Promise<Answer<"list_group_members">>;

  /**
   * Replace several memories by one; they are kept as history.
   *
   * What is not given is taken from them where they agree; tags are put together.
   */
  merge(ids: Given<"merge_memories">["ids"], content: Given<"merge_memories">["content"], more?: Omit<Given<"merge_memories">, "ids" | "content">): Promise<Answer<"merge_memories">>;

  /**
   * Record what was said, to be found again and to form memories from.
   *
   * Recording is all that is waited for. Memories are formed in the background once the
   * conversation has been silent for a moment; `form` does it at once.
   *
   * Each message has a `role` and `content`, and may have `actor` (who speaks), `at`,
   * `id` (recorded once per thread, so that sending a message again does no harm) and
   * `tool_calls`.
   *
   * What an agent records is attributed to it: only what belongs to its categories is formed,
   * and nothing of it counts as asked for by the user.
   */
  observe(messages: Given<"observe">["messages"], more: Omit<Given<"observe">, "messages">): Promise<Answer<"observe">>;

  /**
   * Pin a memory, so that it is kept, or unpin it.
   *
   * With `expected_updated_at` only in the state that has this `updated_at`.
   */
  pin(id: Given<"pin_memory">["id"], pinned?: Given<"pin_memory">["pinned"], more?: Omit<Given<"pin_memory">, "id" | "pinned">): Promise<Answer<"pin_memory">>;

  /**
   * List the projects that this user has memories or conversations about, latest first.
   *
   * A scope of a project lists that one alone.
   */
  projects(): Promise<Answer<"list_projects">>;

  /**
   * List proposals: what was said but waits for consent, and what others offer to share.
   *
   * `state` is open, approved, rejected, expired or any. What is offered by others has their
   * name as its `owner_id`, and is shown to the user alone: to no agent's key.
   */
  proposals(more?: Given<"list_proposals">): Pages<Answer<"list_proposals">>;

  /**
   * Remove forgotten memories for good once their time has come; the result is how many.
   *
   * `before_time` removes every forgotten memory at once. History keeps that they existed.
   */
  purge(more?: Given<"purge_memories">): Promise<Answer<"purge_memories">["purged"]>;

  /**
   * What an agent needs to know, within a budget of tokens that is never exceeded.
   *
   * `agent` is who asks, None for the agent of this scope or the user; its allowlist is
   * checked before anything is read. `procedure` memories come back only when asked for by
   * type or category. `related` adds up to two bullets about the same.
   */
  query(query: Given<"query_memories">["query"], more?: Omit<Given<"query_memories">, "query">): Promise<Answer<"query_memories">>;

  /**
   * Say that a memory helped, is wrong or is outdated.
   *
   * The latest word of each user and agent counts.
   * `used` raises it a little in searches, and keeps it from being forgotten. What a user calls
   * `wrong` or `outdated` is out of reads as if replaced (`undo`, or `withdrawn`, brings it
   * back as it was) and is not formed again from what was said before. What an agent says counts
   * half, lowers the rank alone, and not at all against what a user says. `withdrawn` takes back
   * what was said. Ratings fade within months; `explain` of a search shows what they did. The
   * same said again within a day changes nothing.
   */
  rate(id: Given<"rate_memory">["id"], verdict: Given<"rate_memory">["verdict"], more?: Omit<Given<"rate_memory">, "id" | "verdict">): Promise<Answer<"rate_memory">>;

  /**
   * Compute all vectors again with the present model.
   *
   * Without `confirm` nothing is changed, and the answer says how many they are.
   */
  rebuildEmbeddings(more?: Given<"rebuild_embeddings">): Promise<Answer<"rebuild_embeddings">>;

  /**
   * Replace words of a recorded turn by `[redacted]`, for good.
   *
   * Without more, the secrets that are recognised in the turn; with `text`, these words; with
   * `whole`, all of the turn. They go from the turn, its calls of tools, what it is found by,
   * its vector, the quotes of memories and proposals of the conversation, and from summaries,
   * which are rebuilt. What a memory says stays: forget that one. History keeps who did it,
   * and when. The database's free space is overwritten as when a user is erased.
   */
  redact(threadId: Given<"redact_turn">["thread_id"], position: Given<"redact_turn">["position"], more?: Omit<Given<"redact_turn">, "thread_id" | "position">): Promise<Answer<"redact_turn">>;

  /**
   * Reject a proposal: it is forgotten, and not proposed again for long; what
   * another user offered cannot be offered again.
   */
  reject(id: Given<"reject">["id"], more?: Omit<Given<"reject">, "id">): Promise<Answer<"reject">>;

  /**
   * Find memories that are similar to one, or mention the same people and things, most similar
   * first. `names` says whom both mention.
   */
  related(id: Given<"related_memories">["id"], more?: Omit<Given<"related_memories">, "id">): Promise<Answer<"related_memories">>;

  /**
   * Show the most connected memories of a theme, or of all, and how they are related.
   *
   * Only active memories of this user's own that are related to another one shown: that are about
   * the same, or mention the same people and things (`names`). `entities` are those whom its
   * memories mention, with all that mention them, also such as are related to no other. Of a
   * theme with more than 1,000 memories the latest 1,000 are looked at, with what they were
   * related to when they were noted.
   */
  relationGraph(theme?: Given<"read_graph">["theme"], more?: Omit<Given<"read_graph">, "theme">): Promise<Answer<"read_graph">>;

  /**
   * Remove a member from a group, from whose next read on its memories are gone. For members
   * who manage it; any member can leave.
   */
  removeMember(group: Given<"remove_group_member">["group"], member: Given<"remove_group_member">["member"]): Promise<Answer<"remove_group_member">>;

  /**
   * Go back to the store's way of making vectors; see :meth:`set_embeddings`.
   */
  resetEmbeddings(more?: Given<"reset_embeddings">): Promise<Answer<"reset_embeddings">>;

  /**
   * Bring back an archived or forgotten memory.
   *
   * With `expected_updated_at` only in the state that has this `updated_at`.
   */
  restore(id: Given<"restore_memory">["id"], more?: Omit<Given<"restore_memory">, "id">): Promise<Answer<"restore_memory">>;

  /**
   * Resume a conversation after a break or a restart.
   *
   * The window has the latest `window_kept_turns` turns, a summary of all
   * earlier ones, and what else the user talked about today.
   */
  resume(thread: Given<"resume">["thread"]): Promise<Answer<"resume">>;

  /**
   * The position of this user's change feed: one more with each change of a memory.
   */
  revision(): Promise<Answer<"get_revision">["revision"]>;

  /**
   * Take back what a program was allowed, and show it: its tokens are refused from now on.
   */
  revokeGrant(id: Given<"revoke_grant">["id"]): Promise<Answer<"revoke_grant">>;

  /**
   * Give a webhook a new secret, which is shown only this once.
   *
   * For 24 hours requests are signed with the former one, too, so that receivers can change over.
   */
  rotateWebhookSecret(id: Given<"rotate_webhook_secret">["id"]): Promise<Answer<"rotate_webhook_secret">>;

  /**
   * Keep a program's state of a conversation, in the place of what was saved before.
   *
   * Any JSON value comes back exactly as it was given. With `If-Match` (or `If-None-Match: *` for
   * the first one), a state that somebody else has saved in the meantime is not overwritten.
   */
  saveCheckpoint(thread: Given<"save_checkpoint">["thread"], state: Body<"save_checkpoint">, more?: { if_match?: string; if_none_match?: string }): Promise<Answer<"save_checkpoint"> & { etag: string }>;

  /**
   * The memories that answer a question best, whatever is typed.
   *
   * An empty question or `*` gives the newest. The filters are those of `list`, e.g.
   * `theme="work"`, `status="any"` (never what was forgotten), `as_of="2024-05-01"` for
   * what was true then. `recency_days` leaves out what is older. With a `threshold` (0 to 1)
   * hits that are less sure to be an answer are left out; `explain` adds every component of
   * every score. An embedder that is slow or down never fails a search: `degraded` says so.
   */
  search(query?: Given<"search_memories">["query"], more?: Omit<Given<"search_memories">, "query">): Promise<Answer<"search_memories">>;

  /**
   * What was said that answers a question best.
   *
   * A hit whose statement is no longer current has it in `superseded`: since when, and what is.
   * Of a long turn the best piece is found, whose place is in `part`; its thread has the whole.
   */
  searchTurns(query: Given<"search_turns">["query"], more?: Omit<Given<"search_turns">, "query">): Promise<Answer<"search_turns">>;

  /**
   * Choose where this user's vectors are made, in place of the store's way.
   *
   * Without `confirm` nothing is changed, and the answer says how many vectors would have to
   * be computed again and whether the endpoint answers. With it, the choice holds at once;
   * vectors of another model are dropped, and a job computes them again. The key is stored
   * encrypted and never shown again, so it has to be given with every change. `default` goes
   * back to the store's way.
   */
  setEmbeddings(provider: Given<"set_embeddings">["provider"], more?: Omit<Given<"set_embeddings">, "provider">): Promise<Answer<"set_embeddings">>;

  /**
   * Add a member to a group, or change what one may do. For members who manage it.
   */
  setMember(group: Given<"set_group_member">["group"], member: Given<"set_group_member">["member"], role: Given<"set_group_member">["role"]): Promise<Answer<"set_group_member">>;

  /**
   * Show what was said that a memory was formed from.
   *
   * None where it was not formed from a conversation, where the turn is gone or cannot be known
   * from others for certain, and for what another user shares: where that comes from is theirs.
   */
  sourceTurn(id: Given<"read_source_turn">["id"]): Promise<Answer<"read_source_turn">>;

  /**
   * Summarise what is known of this user in one text; None when nothing is.
   *
   * It is updated after each formation, by the language model or else by a template.
   */
  summary(): Promise<Answer<"read_summary">>;

  /**
   * Call the endpoint and say how wide and how fast it answers, or what is wrong.
   *
   * Without arguments the present provider is tried, otherwise the one that is named. Nothing
   * is stored.
   */
  testEmbeddings(provider?: Given<"test_embeddings">["provider"], more?: Omit<Given<"test_embeddings">, "provider">): Promise<Answer<"test_embeddings">>;

  /**
   * Send a signed ping to a webhook now, and say what became of it; also where it is paused.
   */
  testWebhook(id: Given<"test_webhook">["id"]): Promise<Answer<"test_webhook">>;

  /**
   * List the themes and the number of active memories of each, most used first.
   */
  themes(): Promise<Answer<"list_themes">>;

  /**
   * Show a conversation: its length, and up to which turn memories were formed.
   */
  thread(threadId: Given<"read_thread">["thread_id"]): Promise<Answer<"read_thread">>;

  /**
   * List this user's conversations, latest first.
   */
  threads(more?: Given<"list_threads">): Pages<Answer<"list_threads">>;

  /**
   * List the turns of a conversation in order.
   */
  turns(threadId: Given<"list_turns">["thread_id"], more?: Omit<Given<"list_turns">, "thread_id">): Pages<Answer<"list_turns">>;

  /**
   * Let another user offer memories again. What ended when they were blocked stays ended.
   */
  unblockSender(sender: Given<"unblock_sender">["sender"]): Promise<Answer<"unblock_sender">>;

  /**
   * Bring a superseded or merged memory back, or take back the last update of a keyed one.
   *
   * A replacement is undone by naming either side of it; the memory that came back is returned.
   * With `expected_updated_at` only if the one that is named has this `updated_at`.
   */
  undo(id: Given<"undo_change">["id"], more?: Omit<Given<"undo_change">, "id">): Promise<Answer<"undo_change">>;

  /**
   * Take a shared memory out of one user's sight, or withdraw the offer of it. A viewer does
   * it for themselves, and then it cannot be offered to them again.
   */
  unlink(id: Given<"unlink_memory">["id"], withUser: Given<"unlink_memory">["with_user"]): Promise<Answer<"unlink_memory">>;

  /**
   * Set fields of the user's profile, such as name, city or tone; None removes one.
   *
   * With `explicit`, because the user said so themselves, all of it is stored. Otherwise a
   * field that touches something sensitive becomes a proposal (:meth:`approve`), and a wish
   * about tone or a goal waits until it is said again. Every field is checked before anything
   * is written. `USER.md` follows where there is one, or where the user's mirror is on.
   */
  updateUserProfile(fields: Given<"update_profile">["fields"], more?: Omit<Given<"update_profile">, "fields">): Promise<Answer<"update_profile">>;

  /**
   * Change what is given of a webhook, pause it or resume it.
   *
   * A paused one goes on where it was when it is resumed. With another address, and when it is
   * resumed, what failed is tried again at once.
   */
  updateWebhook(id: Given<"update_webhook">["id"], more?: Omit<Given<"update_webhook">, "id">): Promise<Answer<"update_webhook">>;

  /**
   * Do this user's round of upkeep now: forget what is not used, trim, ask for vectors.
   *
   * What takes longer (consolidation, insights, relations) is queued for a job. The round that
   * comes by itself every day does the same.
   */
  upkeep(): Promise<Answer<"upkeep">>;

  /**
   * The fields of the user's profile; edits of their `USER.md` are taken over first.
   */
  userProfile(): Promise<Answer<"read_profile">>;

  /**
   * Confirm that a memory is still true.
   *
   * With `expected_updated_at` only in the state that has this `updated_at`.
   */
  verify(id: Given<"verify_memory">["id"], more?: Omit<Given<"verify_memory">, "id">): Promise<Answer<"verify_memory">>;

  /**
   * One address that this user's changes are delivered to, and how it is doing.
   */
  webhook(id: Given<"read_webhook">["id"]): Promise<Answer<"read_webhook">>;

  /**
   * The last requests of a webhook, the latest first, without what they said.
   */
  webhookDeliveries(id: Given<"list_webhook_deliveries">["id"], more?: Omit<Given<"list_webhook_deliveries">, "id">): Promise<Answer<"list_webhook_deliveries">>;

  /**
   * The addresses that this user's changes are delivered to, without their secrets.
   */
  webhooks(): Promise<Answer<"list_webhooks">>;

  /**
   * Show the latest turns of a conversation, and a summary of the earlier ones.
   *
   * At most `window_turns` turns, whatever is still waiting to be put into a summary. A
   * conversation in which nothing was said yet has an empty window. One that was resumed by this
   * process goes on showing what else was said today, until the next summary. Secrets in it
   * are masked, because it is made for models; `turns` has what was said.
   */
  window(thread: Given<"read_window">["thread"]): Promise<Answer<"read_window">>;
}
