"""Every maximum in one place. Characters are Unicode code points unless a name says bytes."""

from typing import Final

# -- one memory ----------------------------------------------------------------------------
MAX_CONTENT_CHARS: Final = 8_000
MAX_KEY_CHARS: Final = 200
MAX_THEME_CHARS: Final = 64
MAX_THEME_DESCRIPTION_CHARS: Final = 1_000
MAX_RAG_LENGTH: Final = 1_000  # a note on a theme: how many of its memories to show
MAX_TAGS: Final = 32
MAX_TAG_CHARS: Final = 64
MAX_SOURCE_CONTEXT_CHARS: Final = 2_000
MAX_REFERENCE_CHARS: Final = 200  # user, agent, thread, message, run and actor ids, and roles
MAX_REASON_CHARS: Final = 500
MAX_REFUTED: Final = 1_000  # memories called wrong or outdated that formation compares with
MAX_RATINGS: Final = 50  # of one memory, by different users and agents
MAX_META_BYTES: Final = 16_384  # a history row's meta, as JSON
MAX_BEFORE_BYTES: Final = 131_072  # the values that an update replaced, as JSON
MAX_ID: Final = 2**63 - 1

# -- one call ------------------------------------------------------------------------------
WRITE_BATCH_ITEMS: Final = 1_000  # rows per transaction of a bulk write
SHARED_COMMIT_ROWS: Final = 16  # rows of a write that others may be committed together with
MAX_BULK_ITEMS: Final = 100_000  # memories per call of add_many
DEFAULT_PAGE_ITEMS: Final = 50
MAX_PAGE_ITEMS: Final = 1_000
DEFAULT_CHANGES: Final = 100
MAX_CHANGES: Final = 1_000
MAX_FILTER_VALUES: Final = 100
MAX_QUERY_CHARS: Final = 1_000
DEFAULT_RESULTS: Final = 10
MAX_RESULTS: Final = 50
MAX_CANDIDATES: Final = 1_000  # best of each signal that a search ranks
DEFAULT_QUERY_RESULTS: Final = 3
DEFAULT_BUDGET: Final = 512  # tokens of a query's answer
MAX_BUDGET: Final = 100_000
MAX_RELATED_BULLETS: Final = 2
MAX_RECENCY_DAYS: Final = 36_500
MAX_OBSERVED_TURNS: Final = 1_000  # messages per call of observe
MAX_CURSOR_CHARS: Final = 65_536
MAX_MERGED_ITEMS: Final = 20
MAX_PREDECESSORS: Final = 50  # the latest whose place a memory took, that its lineage names
DEFAULT_GRAPH_MEMORIES: Final = 40
MAX_GRAPH_MEMORIES: Final = 200  # that one graph of relations shows
MAX_MENTIONS: Final = 200  # of one person or thing, among which the nearest are related
MAX_GRAPHED_MEMORIES: Final = 1_000  # the latest ones, whose relations a graph is made from
MAX_LINKS_PER_MEMORY: Final = 1_000  # accepted and offered
MAX_OFFERS_PER_VIEWER: Final = 200  # memories of others that wait for one user
MAX_OFFERS_PER_SENDER: Final = 20  # of these, from one other user
MAX_GROUPS: Final = 10_000
MAX_MEMBERS_PER_GROUP: Final = 1_000
MAX_GROUPS_PER_USER: Final = 20  # each is searched with the user's own memories
MAX_GROUP_NAME_CHARS: Final = 64
MAX_GROUP_TITLE_CHARS: Final = 200
MAX_BLOCKED_SENDERS: Final = 10_000  # of one user

# -- search index ----------------------------------------------------------------------------
MAX_TERMS_PER_TEXT: Final = 4_000  # terms that one text gives to the index
MAX_TERM_CHARS: Final = 64  # longer words are cut
MAX_PIECE_CHARS: Final = 1_000  # of a turn that are indexed and quoted as one

# -- conversations -------------------------------------------------------------------------
MAX_TURN_CHARS: Final = 1_000_000
MAX_TOOL_CALLS_BYTES: Final = 262_144
MAX_THREAD_TITLE_CHARS: Final = 500
MAX_FORMED_MEMORIES: Final = 10_000  # that one page of turns is shown with
MAX_SIMULTANEOUS_TURNS: Final = 10_000  # said at the times that a page of turns is looked up by

# -- files ---------------------------------------------------------------------------------
MAX_IMPORT_LINE_BYTES: Final = 4 * 1024 * 1024
MAX_EXPORT_LINE_BYTES: Final = 32 * 1024 * 1024  # a row of our own export, bytes in base64
MAX_IMPORTED_ID_GAP: Final = 1_000_000  # how far an import may move the series of ids
MAX_IMPORT_FILE_BYTES: Final = 2 * 1024 * 1024 * 1024  # also of all that is read from one archive
MAX_IMPORT_ENTRY_BYTES: Final = 32 * 1024 * 1024  # one conversation or JSON object
MAX_IMPORT_TEXT_BYTES: Final = 8 * 1024 * 1024  # a Markdown file
MAX_IMPORT_ENTRY_VALUES: Final = 500_000  # JSON values in it
MAX_IMPORT_DEPTH: Final = 500  # lists and objects inside each other, in it
MAX_IMPORT_FOLDER_FILES: Final = 10_000  # in a folder, or an archive of one
MAX_IMPORTED_ENTRIES: Final = 1_000_000  # of one list of another system
MAX_IMPORTED_MEMORIES: Final = 100_000  # from one file of another system
MAX_IMPORTED_TURNS: Final = 1_000_000  # from one file of another system
MAX_IMPORTED_ROWS: Final = 1_000_000  # of one user, from our own export; a backup has no such limit
MAX_IMPORTED_ROWS_BYTES: Final = 512 * 1024 * 1024  # of those rows, as they stand in the file
MAX_UNPACKED_RATIO: Final = 100  # how many times its size an archive may unpack to …
MIN_UNPACKED_BYTES: Final = 1024 * 1024  # … from so much on
MAX_ARCHIVE_DIRECTORY_BYTES: Final = 8 * 1024 * 1024  # the list of what an archive holds
MAX_IMPORTS_AT_ONCE: Final = 4  # that one service receives and reads; of one user, one

BACKUP_ROWS_AT_ONCE: Final = 500  # that are copied to or from a backup
BACKUP_LONG_ROWS_AT_ONCE: Final = 50  # of turns
BACKUP_WIDE_ROWS_AT_ONCE: Final = 4  # of tables whose rows can have many megabytes

MAX_POLICY_FILE_BYTES: Final = 131_072  # a policy file; the slowest of that size takes 2.3 s
MAX_POLICY_DEPTH: Final = 8  # levels of nesting in a policy file

# -- jobs ----------------------------------------------------------------------------------
MAX_JOB_ATTEMPTS: Final = 12
MAX_JOB_ERROR_CHARS: Final = 2_000
JOB_BACKOFF_BASE_SECONDS: Final = 2.0
JOB_BACKOFF_CAP_SECONDS: Final = 3_600.0
MAX_JOBS_PER_RUN: Final = 100
MAX_WAKE_UPS_PER_SWEEP: Final = 1_000  # jobs announced to a broker at once
MAX_JOB_PROGRESS_CHARS: Final = 200
MAX_JOB_THREADS: Final = 64  # of one worker
FINISHED_JOB_DAYS: Final = 7
SWEEP_BATCH_ITEMS: Final = 500  # memories that one sweep step changes in one transaction
MAX_CONFLICT_RETRIES: Final = 10  # deadlocked or serialisation-failed transactions
RECALL_FLUSH_SECONDS: Final = 60.0  # how long what was recalled may wait to be counted

# -- embeddings ----------------------------------------------------------------------------
MAX_EMBEDDED_CHARS: Final = 6_000  # of one text; about 8,000 tokens in the densest scripts
MAX_EMBEDDING_REQUEST_CHARS: Final = 48_000  # of all texts of one request, unless one is longer
MAX_EMBEDDING_RESPONSE_BYTES: Final = 32 * 1024 * 1024
EMBEDDING_REQUEST_SECONDS: Final = 30.0  # one attempt
EMBEDDING_FILL_SECONDS: Final = 120.0  # one batch of texts that wait for their vectors
LOCAL_BATCH_TEXTS: Final = 32
LOCAL_RUNS_PER_CORE: Final = 2  # of a local model at once; others wait for their turn
MAX_LOCAL_TOKENS: Final = 512  # of one text, whatever a model folder's tokenizer allows
DEFAULT_LOCAL_TOKENS: Final = 256  # where its tokenizer does not say
MAX_LOCAL_FILE_BYTES: Final = 256 * 1024 * 1024  # of a tokenizer, and of the shipped model
MAX_CACHED_EMBEDDERS: Final = 64
MAX_VECTOR_WIDTH: Final = 16_000  # what pgvector can store in one column

# -- endpoints of models: embeddings and chat ------------------------------------------------
MAX_URL_CHARS: Final = 2_000
MAX_API_KEY_CHARS: Final = 1_000
MAX_MODEL_NAME_CHARS: Final = 200
MODEL_CONNECT_SECONDS: Final = 10.0  # until connected; the rest is the caller's deadline
MAX_MODEL_RETRIES: Final = 3  # of one call: requests sent again after a fault of the endpoint
MODEL_BACKOFF_BASE_SECONDS: Final = 0.5
MODEL_BACKOFF_CAP_SECONDS: Final = 20.0
MAX_RETRY_AFTER_SECONDS: Final = 60.0  # an endpoint that wants a longer pause is "unavailable"
BREAKER_FAILURES: Final = 5  # in a row, until an endpoint is left alone …
BREAKER_OPEN_SECONDS: Final = 30.0  # … for so long

# -- language models -----------------------------------------------------------------------
DEFAULT_ANSWER_TOKENS: Final = 2_400
DEFAULT_THINKING_TOKENS: Final = 8_000
MAX_ANSWER_TOKENS: Final = 100_000
DEFAULT_READ_CHARS: Final = 2_500  # of new text that a model is shown at once
MAX_CORRECTIONS: Final = 2  # of one call: how often a wrong answer is sent back to the model
MAX_MODEL_RESPONSE_BYTES: Final = 4 * 1024 * 1024
MAX_MODEL_ANSWER_CHARS: Final = 200_000  # of the text in it
MAX_REPEATED_ANSWER_CHARS: Final = 4_000  # of a wrong answer that is sent back
MAX_ANSWER_DEPTH: Final = 64  # levels of nesting in an answer

# -- formation -----------------------------------------------------------------------------
MAX_READ_TURN_CHARS: Final = 20_000  # of one turn: of a longer one, its beginning and its end
MAX_TOOL_PASSAGE_CHARS: Final = 500  # of a tool's result, as a source and in a transcript
MAX_TRANSCRIPT_CHARS: Final = 12_000
MAX_TRANSCRIPT_REPLY_CHARS: Final = 500  # of what the assistant said, in a transcript
MAX_TRANSCRIPT_CALL_CHARS: Final = 500  # of one tool call, in a transcript
MAX_TRANSCRIPT_CALLS: Final = 20  # tool calls of one turn, in a transcript
MAX_TRANSCRIPT_NAME_CHARS: Final = 60  # of a speaker or a tool, in a transcript
MAX_QUOTE_CHARS: Final = 2_000  # the words that a candidate rests on
MAX_FORMED_CHARS: Final = 280  # content of a memory that was formed from a conversation
MAX_FORMED_SENTENCES: Final = 2
MAX_EXTRACTED_CANDIDATES: Final = 5  # that a model may find in one stretch of a conversation
MAX_WRITES_PER_TURN: Final = 8  # facts; what the user asked to remember does not count
MAX_JUDGED_PAIRS: Final = 10  # in one question to the model
MAX_THREADS_PER_SWEEP: Final = 100
MAX_WORK_CANDIDATES: Final = 40  # of one portion of a coding agent's session
MAX_WORK_KNOWN: Final = (
    500  # the latest memories about work on a project, that new ones are compared with
)
MAX_WORK_TURNS: Final = 400  # earlier ones of the session that are looked at with it
MAX_THREADS_PER_FORMING: Final = 1_000  # of one call that names no thread
REJECTED_DAYS: Final = 180  # how long what a user turned down is not proposed again
CORROBORATION_DAYS: Final = 90  # how long a wish waits to be said again
MAX_JUDGED_CHARS: Final = 500  # of one statement, in that question
MAX_SUMMARY_CHARS: Final = 2_000
MAX_SUMMARY_NOTES_CHARS: Final = 12_000  # that a model is shown for it
MAX_SUMMARISED_ITEMS: Final = 200

# -- upkeep --------------------------------------------------------------------------------
MAX_POOLED_MEMORIES: Final = 500  # that one consolidation looks for partners of
MAX_POOL_DAYS: Final = 90  # how old a memory may be to be consolidated
POOL_CHANGED_HOURS: Final = 72  # what was changed since is looked at
CHECKED_PAIR_DAYS: Final = 14  # how long a pair is not looked at again
MAX_INSIGHTS: Final = 3  # of one look at what a user was busy with
INSIGHT_HOURS: Final = 24  # between two such looks
MAX_INSIGHT_EPISODES: Final = 5  # that a model is shown for them
MAX_INSIGHT_FACTS: Final = 3
MAX_INSIGHT_CONVERSATION_CHARS: Final = 1_000
MAX_INSIGHT_STATEMENT_CHARS: Final = 500  # of one memory
MAX_INSIGHT_THREADS: Final = 5  # that what was said is taken from
MAX_INSIGHT_TURNS_PER_THREAD: Final = 10
MAX_RELATED_PER_ROUND: Final = 2_000  # memories whose relations one round refreshes
COUNTER_DAYS: Final = 400  # how long counters are kept by the day
DEFAULT_DAILY_DAYS: Final = 30
MAX_DAILY_DAYS: Final = 366  # of daily activity; counters are kept for longer
USERS_PER_PLAN_STEP: Final = 1_000
TRIM_BATCH_ROWS: Final = 5_000

# -- prompts -------------------------------------------------------------------------------
DEFAULT_CONTEXT_TOKENS: Final = 8_000  # of a whole request
MIN_CONTEXT_TOKENS: Final = 200
MAX_CONTEXT_TOKENS: Final = 2_000_000
GUIDE_AIM_BYTES: Final = 1_024  # of the guide to the memory tools with its hints
MAX_GUIDE_BYTES: Final = 2_048
MAX_HINTED_THEMES: Final = 10
MAX_DELTA_BULLETS: Final = 3
MAX_DELTA_BULLET_CHARS: Final = 160
MAX_DELTAS_ONE_BY_ONE: Final = 30  # changes that wait; beyond that the older ones are counted
MAX_RECALLED_MEMORIES: Final = 50  # that one prompt shows
MAX_RECALLED_CHARS: Final = 800  # of one memory; a tool reads the rest
MAX_RECALLED_TURNS: Final = 20
MAX_PROMPT_FILE_BYTES: Final = 65_536
MAX_TOOL_SCHEMAS_BYTES: Final = 1_048_576
MAX_MESSAGE_CHARS: Final = 1_000_000  # of the message that a prompt is built for
MAX_ANSWER_CHARS: Final = 1_000_000  # of an answer that is held against what was recalled
MAX_PROFILE_FIELDS: Final = 50  # of one user
MAX_PROFILE_FIELD_CHARS: Final = 60
MAX_PROFILE_VALUE_CHARS: Final = 500

# -- long conversations --------------------------------------------------------------------
MAX_COMPACTION_CHARS: Final = 1_200  # the summary of one stretch
MAX_BRIDGE_CHARS: Final = 2_000  # what came before the window, in all
MAX_DAY_LOG_CHARS: Final = 4_000  # of a day's log, where a conversation is taken up again
MAX_COMPACTIONS_PER_JOB: Final = 200

# -- files of the home folder --------------------------------------------------------------
MAX_MIRRORED_ITEMS: Final = 20_000
MAX_MIRROR_FILE_BYTES: Final = 32 * 1024 * 1024
MAX_MIRROR_COPIES: Final = 1_000  # of MEMORY.md whose edits are still understood when saved late
MIRROR_LOCK_SECONDS: Final = 10.0  # how long to wait for another process at the same files
MAX_MIRRORS_PER_LOOK: Final = 500  # users, for whose files one look is; the others come next
MIRROR_QUIET_SECONDS: Final = 2.0  # since a file was saved, until what it says is taken over …
MIRROR_OPEN_SECONDS: Final = 60.0  # … or so many, while a program has it open for writing
PROFILE_QUIET_SECONDS: Final = 30.0  # since USER.md was saved, until missing lines are deletions
MIRROR_SECONDS: Final = 1.0  # between two looks for changes of files or memories

# -- what programs keep --------------------------------------------------------------------
MAX_CHECKPOINT_BYTES: Final = 8 * 1024 * 1024  # one state, as JSON
MAX_JSON_DEPTH: Final = 200  # lists and objects inside each other, of a state or an entry
MAX_GRAPH_VALUE_BYTES: Final = 16 * 1024 * 1024  # one value of a graph, as stored
MAX_GRAPH_WRITES: Final = 10_000  # of one task
MAX_GRAPH_NAME_CHARS: Final = 2_000  # namespaces, channels and task paths of a graph
MAX_ROW_NAME_BYTES: Final = 1_800  # of what names a row beside its user, for PostgreSQL's indexes
MAX_ENTRY_BYTES: Final = 4 * 1024 * 1024  # the value of one entry of a store, as JSON
MAX_NAMESPACE_LABELS: Final = 32
MAX_NAMESPACE_CHARS: Final = 500
MAX_ENTRY_KEY_CHARS: Final = 500
MAX_MEMORY_FILES: Final = 1_000  # that the memory tool of one user keeps
MAX_LISTED_FILES: Final = 200  # that one view of a directory shows
MAX_FILE_RETRIES: Final = 100  # of one edit of a file that others change at the same time
SESSION_PART_BYTES: Final = 256 * 1024  # of an agent's session, until a new part of it begins

# -- keys ----------------------------------------------------------------------------------
MAX_KEY_NAME_CHARS: Final = 100
MAX_API_KEYS: Final = 100_000  # of one store
MAX_KEY_DAYS: Final = 3_650  # until a key expires
KEY_USE_MINUTES: Final = 5  # how exactly it is noted when a key was last used

# -- programs that sign in with OAuth ---------------------------------------------------------
MAX_OAUTH_CLIENTS: Final = 1_000  # that are registered; then those that nobody allowed give way
MAX_OAUTH_REGISTRATIONS: Final = 20  # from one address, per minute and worker
MAX_CLIENT_NAME_CHARS: Final = 100
MAX_REDIRECT_URIS: Final = 20  # of one program
MAX_OAUTH_FORM_BYTES: Final = 65_536  # of a request for tokens, and of a registration
MAX_CLIENT_DOCUMENT_BYTES: Final = 65_536  # what a program says of itself at its own address
CLIENT_DOCUMENT_SECONDS: Final = 300.0  # how long it is good without asking again
CLIENT_DOCUMENT_WAIT_SECONDS: Final = 5.0  # for its answer
MAX_CLIENT_DOCUMENTS: Final = 200  # that are kept at once
ISSUER_KEYS_SECONDS: Final = 600.0  # how long the keys of another authorisation server are kept …
ISSUER_KEYS_PAUSE_SECONDS: Final = 10.0  # … or, for an unknown key, are not read again
ISSUER_KEYS_STALE_SECONDS: Final = 86_400.0  # … or stay good while it cannot be reached
MAX_GRANTS_PER_USER: Final = 100
MAX_USED_REFRESH_TOKENS: Final = 100  # of one grant, whose second use is noticed
OAUTH_CODE_SECONDS: Final = 60  # until a code has to be exchanged
OAUTH_ACCESS_SECONDS: Final = 3_600  # until an access token expires
OAUTH_REFRESH_DAYS: Final = 30  # until a refresh token expires that is not used

# -- webhooks ------------------------------------------------------------------------------
MAX_WEBHOOKS_PER_USER: Final = 10
MAX_STORE_WEBHOOKS: Final = 20  # of the operator, for all users
MAX_WEBHOOK_CHANGES: Final = 100  # in one request
MAX_WEBHOOK_BYTES: Final = 256 * 1024  # of one request, but for one change that is larger
MAX_WEBHOOK_ANSWER_BYTES: Final = 64 * 1024  # that are read of an answer, and not kept
WEBHOOK_ANSWER_SECONDS: Final = 10.0  # until the receiver has answered
WEBHOOK_BACKOFF_BASE_SECONDS: Final = 5.0  # after the first failure; doubled by each one
WEBHOOK_BACKOFF_CAP_SECONDS: Final = 3_600.0
MAX_WEBHOOK_PAUSE_SECONDS: Final = 86_400.0  # that a receiver can ask for with Retry-After
WEBHOOK_FAILING_HOURS: Final = 72  # of nothing but failures, until a webhook is paused
WEBHOOK_SETTLE_SECONDS: Final = 2.0  # until what was being written as one began is looked for
WEBHOOK_YIELD_SECONDS: Final = 1.0  # until a worker looks again whether another one still delivers
WEBHOOK_ROTATION_HOURS: Final = 24  # that the former secret signs, too
WEBHOOK_TOLERANCE_SECONDS: Final = 300.0  # how old a request may be that a receiver believes
MAX_KEPT_DELIVERIES: Final = 100  # the latest of each webhook

# -- the service ---------------------------------------------------------------------------
MAX_REQUEST_BYTES: Final = 10 * 1024 * 1024
MAX_PROXY_REQUEST_BYTES: Final = 64 * 1024 * 1024  # chats may have pictures
MAX_REQUEST_ID_CHARS: Final = 64
MAX_PIPELINED_REQUESTS: Final = 32  # that wait on one connection behind the one being answered
MAX_DISCARDED_BYTES: Final = 4 * 1024 * 1024  # that may follow what was refused, until it is read
REFUSAL_SECONDS: Final = 5.0  # how long a caller may take to read why it was refused
MAX_IDEMPOTENCY_KEY_CHARS: Final = 200
RESPONSE_DAYS: Final = 30  # how long a chat can go on from a response; endpoints keep them as long
IDEMPOTENCY_HOURS: Final = 24  # how long an answer is kept for who asks again
IDEMPOTENCY_LEASE_SECONDS: Final = 60  # how long a request that never ended keeps its key
MAX_KEPT_ANSWER_BYTES: Final = 1024 * 1024  # of one request
MAX_RATE_BUCKETS: Final = 10_000  # callers that are counted at once
MAX_LENGTHY_REQUESTS: Final = 32  # that ask a model or read a whole file, at once
EXPORT_STALL_SECONDS: Final = 60  # how long a client may take nothing of an export
MAX_MCP_SUBSCRIPTIONS: Final = 100  # resources that one client listens to over MCP
MAX_MCP_STREAMS: Final = 200  # clients that listen over HTTP, of one process
MAX_MCP_TEXT_BYTES: Final = 256 * 1024  # of MEMORY.md or the change feed over MCP, in one answer

# -- the chat proxy ------------------------------------------------------------------------
MAX_PROXY_MEMORY_SECONDS: Final = 10  # that a chat waits to recall, or to record; then it goes on
MAX_PROXIED_ANSWER_BYTES: Final = 32 * 1024 * 1024  # that is not streamed
MAX_OBSERVED_ANSWER_CHARS: Final = 1_000_000  # of a streamed answer, for memory
MAX_OBSERVED_MESSAGES: Final = 20  # the latest of one request, for memory
MAX_WAITING_EXCHANGES: Final = 1_000  # chats and answers that wait to be recorded; more are not

# -- the web page --------------------------------------------------------------------------
PAGE_ROWS: Final = 50  # of a list, before one asks for more
PAGE_RESULTS: Final = 30  # of a search
MAX_FORM_BYTES: Final = 256 * 1024  # far more than any form of ours; strangers can send one, too
MAX_FORM_FIELDS: Final = 100
MAX_SHOWN_PROPOSALS: Final = 10  # proposals that the navigation counts
