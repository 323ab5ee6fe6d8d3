// Written by scripts/typescript.py: make client-typescript. Change what it reads, not this.
// OpenAPI document: sha256 efc2dd49b17f99aade0665f37c7fec4ae2ccee80876f946ba80dbc821df63e6f

export interface paths {
    "/v1/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_threads"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/form": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["form"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_todays_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/turns/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["search_turns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread_id}/standing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_thread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/turns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["observe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread_id}/turns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_turns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread_id}/turns/{position}/redaction": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["redact_turn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/window": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_window"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/compact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["compact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/form": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["form_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/log/{day}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/source-turn": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_source_turn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread_id}/formed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_formed_turns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_summary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/upkeep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["upkeep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/consolidate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["consolidate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/counters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_counters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/activity/daily": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_daily"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_checkpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_embeddings"];
        put: operations["set_embeddings"];
        post?: never;
        delete: operations["reset_embeddings"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/embeddings/states": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["read_embedding_states"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/embeddings/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["test_embeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/embeddings/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rebuild_embeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/embeddings/backfill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["backfill_embeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/embeddings/fill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["fill_embeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_grants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/grants/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["revoke_grant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_memories"];
        put?: never;
        post: operations["add_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["add_memories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["get_memories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["search_memories_by_address"];
        put?: never;
        post: operations["search_memories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_memory"];
        put?: never;
        post?: never;
        delete: operations["forget_memory"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["memory_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/lineage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["memory_lineage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/related": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["related_memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["forget_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["merge_memories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["purge_memories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["archive_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["restore_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/pin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["pin_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["verify_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/rate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rate_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["undo_change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/themes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_themes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_projects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/revision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_revision"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/themes/{theme}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["describe_theme"];
        trace?: never;
    };
    "/v1/proposals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_proposals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_profile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["update_profile"];
        trace?: never;
    };
    "/v1/proposals/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/proposals/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["reject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["list_links"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocked-senders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["blocked_senders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["memory_links"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{id}/links/{with_user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["link_memory"];
        post?: never;
        delete: operations["unlink_memory"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocked-senders/{sender}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["block_sender"];
        post?: never;
        delete: operations["unblock_sender"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["query_memories"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["build_context"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["give_feedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_my_groups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_group_members"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/groups/{group}/members/{member}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["set_group_member"];
        post?: never;
        delete: operations["remove_group_member"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_webhooks"];
        put?: never;
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["read_webhook"];
        put?: never;
        post?: never;
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        patch: operations["update_webhook"];
        trace?: never;
    };
    "/v1/webhooks/{id}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rotate_webhook_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["test_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_webhook_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_tools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tools/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["call_tool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints/{thread}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["load_checkpoint"];
        put: operations["save_checkpoint"];
        post?: never;
        delete: operations["delete_checkpoint"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["export_user"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["import_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description What a user can allow a program that signs in with OAuth; writing includes reading.
         * @enum {string}
         */
        AccessScope: "memory:read" | "memory:write";
        /**
         * @description What formation decided about one statement.
         *
         *     ``close`` ends memories without a new one: what was open is done.
         * @enum {string}
         */
        Action: "add" | "update" | "replace" | "unlink" | "close" | "ignore" | "reject" | "propose" | "defer";
        /** @description One step of background work. It says nothing of what memories say. */
        ActivityEvent: {
            id: number;
            /** Format: date-time */
            at: string;
            node: string;
            op: string;
            status: components["schemas"]["EventStatus"];
            thread_id?: string | null;
            item_id?: number | null;
            theme?: string | null;
            similarity?: number | null;
            detail?: string | null;
        };
        /**
         * @description The outcome of adding one memory.
         *
         *     ``duplicate``: the same text was there already and nothing was written. ``updated``: the key was
         *     there already and its memory was changed. ``embedding`` says whether its vector is ``ready`` or
         *     still ``pending``: until then it is found by words alone. None where no vectors are made.
         */
        Added: {
            id: number;
            status: components["schemas"]["Status"];
            /** @default false */
            duplicate: boolean;
            /** @default false */
            updated: boolean;
            embedding?: components["schemas"]["VectorState"] | null;
        };
        /**
         * @description Memories of a user that may be wrong, needless or outdated. Nothing is changed.
         *
         *     ``memories`` is the number of active ones checked. Duplicates and contradictions are pairs; junk
         *     suspects, unverified and expired ones are single memories. ``decisions`` are formation's, the
         *     latest first.
         */
        AuditReport: {
            user_id: string;
            memories: number;
            duplicates: components["schemas"]["Findings"];
            contradictions: components["schemas"]["Findings"];
            junk: components["schemas"]["Findings"];
            unverified: components["schemas"]["Findings"];
            expired: components["schemas"]["Findings"];
            /** @default [] */
            decisions: components["schemas"]["PastDecision"][];
        };
        /** @description A user who cannot offer this user anything. */
        BlockedSender: {
            user_id: string;
            /** Format: date-time */
            since: string;
        };
        /**
         * @description A memory as a line for a model: ``[category] text``. ``owner_id`` is None for the user's own;
         *     another user's text is quoted.
         */
        Bullet: {
            id: number;
            category: string;
            text: string;
            owner_id?: string | null;
        };
        /** @description What a model wants to have done. */
        CallRequest: {
            /**
             * @description The arguments, as an object or as the JSON text that the model wrote.
             * @example {
             *       "query": "what does she drink"
             *     }
             */
            arguments?: {
                [key: string]: unknown;
            } | string | null;
            /**
             * @description The sets that the model was offered; a tool of another one does not exist for it. Default: all.
             * @example [
             *       "standard"
             *     ]
             */
            sets?: string[] | null;
        };
        /**
         * @description One write. ``old_ref`` and ``new_ref`` are the ids of the replaced memory and its
         *     replacement.
         *
         *     ``before`` holds the values that an update replaced. It is cleared when the memory is purged, so
         *     that history does not keep its text.
         */
        Change: {
            revision: number;
            event: components["schemas"]["Event"];
            item_id: number;
            /** Format: date-time */
            at: string;
            actor: string;
            reason?: string | null;
            old_ref?: number | null;
            new_ref?: number | null;
            other_user?: string | null;
            meta?: {
                [key: string]: unknown;
            };
            before?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description A segment of the change feed, oldest first.
         *
         *     ``revision`` is the latest one; ``more`` says that there are further changes.
         */
        Changes: {
            changes: components["schemas"]["Change"][];
            revision: number;
            more: boolean;
        };
        /**
         * @description The state saved last for a conversation.
         *
         *     ``version`` is 1 for the first save and one more with each save after it.
         */
        Checkpoint: {
            thread_id: string;
            version: number;
            state: unknown;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description A saved state without its contents. */
        CheckpointInfo: {
            thread_id: string;
            version: number;
            size_bytes: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /**
         * @description Who chose a user's embedding model.
         * @enum {string}
         */
        ChoiceOrigin: "operator" | "user" | "default";
        /** @description The result of compaction: summaries made, the turns they cover, and the turns left. */
        CompactionReport: {
            thread_id: string;
            compactions: number;
            turns: number;
            open_turns: number;
            made_by: string[];
        };
        /**
         * @description The result of one consolidation.
         *
         *     ``waiting`` pairs are left for another day, and ``waits`` says why. In a ``dry_run`` the
         *     decisions are not applied.
         */
        ConsolidationReport: {
            /** @default 0 */
            pairs: number;
            /** @default 0 */
            merged: number;
            /** @default 0 */
            superseded: number;
            /** @default 0 */
            linked: number;
            /** @default 0 */
            waiting: number;
            waits?: string | null;
            /** @default [] */
            decisions: components["schemas"]["PairDecision"][];
            /** @default false */
            dry_run: boolean;
        };
        /**
         * @description A request to a model, ready to be sent.
         *
         *     ``system`` is the text of the first of the ``messages``. ``confidence`` is the likelihood that
         *     the recalled memories answer the message; where it is low, ``suggests_query``. ``left_out``
         *     names what did not fit, ``problems`` what could not be read.
         */
        Context: {
            system: string;
            messages: {
                [key: string]: string;
            }[];
            memories: components["schemas"]["RecalledMemory"][];
            quotes: components["schemas"]["RecalledTurn"][];
            delta: string[];
            confidence: number | null;
            suggests_query: boolean;
            tokens: components["schemas"]["TokenSplit"];
            left_out: string[];
            problems: string[];
        };
        /**
         * @description What a prompt that recalls shows of a theme: all of it, or what is relevant.
         * @enum {string}
         */
        ContextPolicy: "all" | "rag";
        /**
         * @description Totals over the requested days.
         *
         *     ``memory_replacement_rate``: the share of formation's writes that replaced a memory.
         *     ``memory_dedup_rate``: the share of its candidates that were already known.
         *     ``retrieval_hit_rate``: the share of recalled memories with ``feedback`` that was used.
         *     ``context_unsure_rate``: the share of prompts with recall in which nothing was likely to be an
         *     answer.
         */
        Counters: {
            memory_total_count: number;
            memory_replacement_rate: number;
            memory_dedup_rate: number;
            retrieval_hit_rate: number;
            context_unsure_rate: number;
            tokens_today: number;
            counts: {
                [key: string]: number;
            };
        };
        /**
         * @description What happened on one ``day`` (ISO, UTC).
         *
         *     ``memories_added`` were created on it and have not been purged. ``decisions`` are formation's,
         *     by what it decided; ``model_calls`` include failed ones. ``recalls`` are searches, queries and
         *     prompts that recalled; their median and 95th percentile in milliseconds are estimated from a
         *     histogram, None without any.
         */
        DayActivity: {
            day: string;
            memories_added: number;
            decisions: {
                [key: string]: number;
            };
            model_calls: number;
            prompt_tokens: number;
            completion_tokens: number;
            recalls: number;
            recall_p50_ms: number | null;
            recall_p95_ms: number | null;
        };
        /** @description The summary of one conversation segment. */
        DayEntry: {
            thread_id: string;
            /** Format: date-time */
            at: string;
            summary: string;
            made_by: string;
        };
        /** @description Summaries of a user's conversations of one day, in order. */
        DayLog: {
            day: string;
            entries: components["schemas"]["DayEntry"][];
        };
        /**
         * @description The decision on one statement, and why.
         *
         *     ``memory_id`` is the memory written or matched, ``target_id`` the memory that was replaced,
         *     updated or unlinked, ``proposal_id`` the proposal that waits for the user.
         */
        Decision: {
            action: components["schemas"]["Action"];
            reason: string;
            content: string;
            theme?: string | null;
            type?: string | null;
            key?: string | null;
            memory_id?: number | null;
            target_id?: number | null;
            proposal_id?: number | null;
            similarity?: number | null;
        };
        /**
         * @description The effect of requesting missing vectors.
         *
         *     ``put_back`` had failed or are of another model, and wait again; ``pending`` is the total.
         */
        EmbeddingBackfill: {
            put_back: number;
            pending: number;
        };
        /**
         * @description The effect of changing the provider, and whether it was applied.
         *
         *     ``to_rebuild`` vectors must be computed again. ``applied`` is False until that is confirmed.
         *     ``problem`` is the new provider's error on a test call, if any.
         */
        EmbeddingChange: {
            provider: string;
            model: string | null;
            to_rebuild: number;
            applied: boolean;
            problem: string | null;
        };
        /**
         * @description The state of one memory's vector.
         *
         *     A vector of another model than the present one is still ``ready`` here, under the model that
         *     made it; :class:`EmbeddingStatus` counts it among the ``stale``. Of a memory that another user
         *     shares, only the ``state`` is shown: the owner's model is private.
         */
        EmbeddingState: {
            id: number;
            state: components["schemas"]["VectorState"];
            provider: string | null;
            model: string | null;
            dimensions: number | null;
            error: string | null;
        };
        /**
         * @description A user's embedding model, and its progress.
         *
         *     Of a long turn each piece counts among the ``turns``. ``ready`` counts the vectors of the
         *     present model; ``pending`` those still to be made, including ``stale`` ones of another model;
         *     ``error`` those that failed for good. ``last_error`` is the last error message. ``problem`` says
         *     why no vectors can be made at all, e.g. a stored key that cannot be read any more.
         */
        EmbeddingStatus: {
            provider: string;
            model: string | null;
            origin: components["schemas"]["ChoiceOrigin"];
            dimensions: number | null;
            memories: number;
            turns: number;
            ready: number;
            pending: number;
            stale: number;
            error: number;
            last_error: string | null;
            problem: string | null;
        };
        /** @description What came of it. ``problem`` is None when all is well. */
        EmbeddingTest: {
            ok: boolean;
            provider: string;
            model: string | null;
            dimensions: number | null;
            latency_ms: number | null;
            problem: string | null;
        };
        /**
         * @description The kind of a change in history.
         * @enum {string}
         */
        Event: "ADD" | "UPDATE" | "ARCHIVE" | "DELETE" | "RESTORE" | "SUPERSEDE" | "MERGE" | "LINK" | "UNLINK" | "TTL" | "PURGE" | "CONSENT" | "PIN" | "VERIFY" | "UNDO" | "RATE";
        /**
         * @description How a step of background work ended.
         * @enum {string}
         */
        EventStatus: "ok" | "skipped" | "error";
        /** @description Which of the recalled memories an answer used, and the share of them. */
        Feedback: {
            recalled: number[];
            used: number[];
            hit_rate: number;
        };
        /**
         * @description The outcome of one field of an update.
         * @enum {string}
         */
        FieldOutcome: "applied" | "unchanged" | "removed" | "proposed" | "waiting" | "refused";
        /**
         * @description The outcome of one field: ``applied``, ``unchanged``, ``removed``, ``proposed`` (waits for
         *     consent), ``waiting`` (to be confirmed) or ``refused`` (the user rejected it before).
         */
        FieldUpdate: {
            key: string;
            label: string;
            outcome: components["schemas"]["FieldOutcome"];
            item_id?: number | null;
            proposal_id?: number | null;
        };
        /**
         * @description One or two memories to review, and why.
         *
         *     ``similarity`` is that of the two memories, where it was measured.
         */
        Finding: {
            ids: number[];
            reason: string;
            similarity?: number | null;
        };
        /**
         * @description Findings of one kind: their count, and the first of them.
         *
         *     ``is_complete`` is False where the count reached its limit, or not everything could be compared.
         */
        Findings: {
            /** @default 0 */
            count: number;
            /** @default [] */
            listed: components["schemas"]["Finding"][];
            /** @default true */
            is_complete: boolean;
        };
        /**
         * @description The result of formation. ``turns`` is the number of turns read; ``waits`` says why it stopped
         *     early.
         */
        FormationReport: {
            threads: number;
            turns: number;
            decisions: components["schemas"]["Decision"][];
            waits?: string | null;
        };
        /** @description One message with the memories formed from it, the oldest first. */
        FormedTurn: {
            turn: components["schemas"]["Turn"];
            memories: components["schemas"]["Item"][];
        };
        /**
         * @description What a user allowed a program, until they or the end of their key take it back.
         *
         *     ``key_id`` is the key that they signed in with: the program has its limits. ``expires_at`` is
         *     when the last of its tokens expires, unless the program asks for new ones before.
         */
        Grant: {
            id: string;
            user_id: string;
            key_id: string;
            client_id: string;
            client_name: string;
            scopes: components["schemas"]["AccessScope"][];
            resource: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            last_used_at: string | null;
        };
        /** @description A member of a group. ``added_by`` is the member who added them, None for the operator. */
        GroupMember: {
            group: string;
            user_id: string;
            role: components["schemas"]["GroupRole"];
            added_by: string | null;
            /** Format: date-time */
            since: string;
        };
        /**
         * @description What a member may do in the space of a group; each role may do what those before it may.
         * @enum {string}
         */
        GroupRole: "read" | "write" | "manage";
        /** @description What an import wrote and skipped, with counted reasons; ``proposed`` waits for consent. */
        ImportReport: {
            format: string;
            /** @default 0 */
            added: number;
            /** @default 0 */
            proposed: number;
            /** @default 0 */
            updated: number;
            /** @default 0 */
            duplicates: number;
            /** @default 0 */
            restored_rows: number;
            /** @default 0 */
            threads: number;
            /** @default 0 */
            turns: number;
            skipped?: {
                [key: string]: number;
            };
        };
        /**
         * @description One remembered thing. All times are UTC. ``project_id`` is the project that it is about; None
         *     for what is so in all of them. ``ratings`` are what users and agents say of it (``rate``).
         *
         *     ``embedding`` says how far its vector is, in answers of ``get``: until it is ``ready`` the
         *     memory is found by words alone. None where no vectors are made, or it was not looked up.
         */
        Item: {
            id: number;
            user_id: string;
            theme: string;
            type: components["schemas"]["MemoryType"];
            key: string | null;
            content: string;
            tags: string[];
            source: components["schemas"]["Source"];
            source_context: string | null;
            thread_id: string | null;
            message_id: string | null;
            agent_id: string | null;
            run_id: string | null;
            actor_id: string | null;
            role: string | null;
            confidence: number;
            importance: number;
            pinned: boolean;
            status: components["schemas"]["Status"];
            /** Format: date-time */
            valid_from: string;
            valid_to: string | null;
            expires_at: string | null;
            purge_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            last_accessed_at: string | null;
            last_verified_at: string | null;
            access_count: number;
            project_id?: string | null;
            /** @default [] */
            ratings: components["schemas"]["Rating"][];
            embedding?: components["schemas"]["VectorState"] | null;
        };
        /**
         * @description The chain of replacements of a memory.
         *
         *     ``successor`` replaced it; ``predecessors`` are those it replaced, the latest first.
         *     ``undoable`` is what an undo would revert, if anything. An undo can still be refused where
         *     another memory has taken the place meanwhile.
         */
        Lineage: {
            successor?: components["schemas"]["Item"] | null;
            /** @default [] */
            predecessors: components["schemas"]["Item"][];
            undoable?: components["schemas"]["Undoable"] | null;
        };
        /**
         * @description A user a memory is shared with, or offered to.
         *
         *     ``since`` is when it was accepted or offered; an unanswered offer ends at ``expires_at``.
         */
        Link: {
            id: number;
            user_id: string;
            state: components["schemas"]["LinkState"];
            /** Format: date-time */
            since: string;
            expires_at: string | null;
        };
        /**
         * @description Whether another user sees a memory, or has yet to accept it.
         * @enum {string}
         */
        LinkState: "offered" | "accepted";
        MadeResponse: {
            made: number;
        };
        /** @description A group that a user is in, and as what. */
        Membership: {
            group: string;
            title: string | null;
            role: components["schemas"]["GroupRole"];
            members: number;
            /** Format: date-time */
            since: string;
        };
        /** @description A found memory. ``owner_id`` is None for the user's own, whose ``project_id`` it shows. */
        MemoryHit: {
            id: number;
            content_snippet: string;
            score: number;
            confidence: number;
            signals: components["schemas"]["Signals"];
            explanation?: {
                [key: string]: unknown;
            } | null;
            theme: string;
            type: components["schemas"]["MemoryType"];
            status: components["schemas"]["Status"];
            /** Format: date-time */
            created_at: string;
            owner_id?: string | null;
            project_id?: string | null;
        };
        /**
         * @description What kind of thing is remembered.
         * @enum {string}
         */
        MemoryType: "preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other";
        /**
         * @description Somebody or something that the user has named: all ``names``, what it is to the user
         *     (``told``, such as "my sister") if that is clear, and the ids of the ``memories`` that mention
         *     it, the latest first.
         */
        NamedEntity: {
            names: string[];
            told: string | null;
            memories: number[];
        };
        /** @description How many messages were recorded, and how many were already there. */
        Observed: {
            thread_id: string;
            recorded: number;
            known: number;
        };
        /** @description The agent that recorded a turn, and its categories; None for all. */
        Observer: {
            agent: string | null;
            categories: string[] | null;
        };
        /** @description The tools as a model is told of them, and how it should use them. */
        OfferedTools: {
            tools: {
                [key: string]: unknown;
            }[];
            guide: string;
        };
        /** @description Some entries, and where to go on; ``next_cursor`` is None on the last page. */
        Page_ActivityEvent_: {
            items: components["schemas"]["ActivityEvent"][];
            next_cursor?: string | null;
        };
        /** @description Some entries, and where to go on; ``next_cursor`` is None on the last page. */
        Page_CheckpointInfo_: {
            items: components["schemas"]["CheckpointInfo"][];
            next_cursor?: string | null;
        };
        /** @description Some entries, and where to go on; ``next_cursor`` is None on the last page. */
        Page_FormedTurn_: {
            items: components["schemas"]["FormedTurn"][];
            next_cursor?: string | null;
        };
        /** @description Some entries, and where to go on; ``next_cursor`` is None on the last page. */
        Page_Item_: {
            items: components["schemas"]["Item"][];
            next_cursor?: string | null;
        };
        /** @description Some entries, and where to go on; ``next_cursor`` is None on the last page. */
        Page_Proposal_: {
            items: components["schemas"]["Proposal"][];
            next_cursor?: string | null;
        };
        /** @description Some entries, and where to go on; ``next_cursor`` is None on the last page. */
        Page_Thread_: {
            items: components["schemas"]["Thread"][];
            next_cursor?: string | null;
        };
        /** @description Some entries, and where to go on; ``next_cursor`` is None on the last page. */
        Page_Turn_: {
            items: components["schemas"]["Turn"][];
            next_cursor?: string | null;
        };
        /**
         * @description The outcome for two similar memories.
         * @enum {string}
         */
        PairAction: "merge" | "supersede" | "link" | "keep";
        /**
         * @description The outcome for one pair, and why.
         *
         *     ``replaced`` is the memory that ``kept`` replaced; where both stay, ``beside`` is the other one.
         */
        PairDecision: {
            kept: number;
            action: components["schemas"]["PairAction"];
            reason: string;
            similarity: number;
            replaced?: number | null;
            beside?: number | null;
        };
        /**
         * @description A decision of formation. ``item_id`` is its memory or proposal, ``content`` what that says
         *     now, if it is still kept; of rejected statements only the reason is.
         */
        PastDecision: {
            /** Format: date-time */
            at: string;
            thread_id: string | null;
            action: components["schemas"]["Action"];
            reason: string | null;
            theme?: string | null;
            item_id?: number | null;
            content?: string | null;
        };
        /** @description Why a request was refused or failed. */
        Problem: {
            /**
             * @description The kind of problem.
             * @example MemoryNotFound
             */
            type: string;
            /**
             * @description The status in words.
             * @example Not Found
             */
            title: string;
            /**
             * @description The HTTP status.
             * @example 404
             */
            status: number;
            /**
             * @description What was wrong, and what is allowed.
             * @example no memory 7
             */
            detail: string;
            /**
             * @description The request in the service's log.
             * @default null
             * @example 5f0c9e1d2b7a4c63
             */
            request_id: string | null;
        };
        /**
         * @description A user's profile, the oldest field first.
         *
         *     ``problems`` has one line for each edit of ``USER.md`` that could not be applied.
         */
        Profile: {
            /** @default [] */
            fields: components["schemas"]["ProfileField"][];
            /** @default [] */
            problems: string[];
        };
        /** @description One field of a profile. ``item_id`` is its memory. */
        ProfileField: {
            key: string;
            label: string;
            value: string;
            item_id: number;
            /** Format: date-time */
            updated_at: string;
        };
        /**
         * @description The outcome of each field of an update, in the order given.
         *
         *     ``problems`` has one line for each edit of ``USER.md`` that could not be applied.
         */
        ProfileUpdate: {
            fields: components["schemas"]["FieldUpdate"][];
            /** @default [] */
            problems: string[];
        };
        /**
         * @description A project with the number of its active memories and of its conversations.
         *
         *     ``last_activity`` is when one of them was last changed or said something in.
         */
        Project: {
            project_id: string;
            memories: number;
            threads: number;
            /** Format: date-time */
            last_activity: string;
        };
        /**
         * @description A proposal that waits for consent. ``content`` and ``quote`` are cleared when it is decided.
         *
         *     ``fields`` names what makes it sensitive, or which profile field it is about. ``signals`` counts
         *     how often it was said. ``item_id`` is the memory made by an approval. ``owner_id`` is the user
         *     who offers a memory: then the id and the content are those of the memory now.
         */
        Proposal: {
            id: number;
            kind: components["schemas"]["ProposalKind"];
            state: components["schemas"]["ProposalState"];
            fields: string[];
            content: string | null;
            quote: string | null;
            theme: string | null;
            type: string | null;
            thread_id: string | null;
            signals: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            decided_at: string | null;
            decided_by: string | null;
            item_id: number | null;
            owner_id?: string | null;
            project_id?: string | null;
        };
        /**
         * @description Why a proposal waits: a statement for consent or corroboration, another user's offer for
         *     acceptance.
         * @enum {string}
         */
        ProposalKind: "consent" | "corroboration" | "share";
        /**
         * @description The state of a proposal; only open ones can be decided.
         * @enum {string}
         */
        ProposalState: "open" | "approved" | "rejected" | "expired";
        /**
         * @description A sensitive memory of an agent that waits for the user's consent.
         *
         *     ``status`` is ``proposed``, or ``turned_down`` if the user rejected it before; ``fields`` names
         *     what makes it sensitive.
         */
        Proposed: {
            proposal_id: number | null;
            status: string;
            fields: string[];
            note: string;
        };
        PurgedResponse: {
            purged: number;
        };
        /**
         * @description The results of a query within its budget of ``tokens``.
         *
         *     ``confidence`` is that of the best one, None where nothing was found; ``degraded`` says why the
         *     search used words only, if it did.
         */
        QueryAnswer: {
            /** @default [] */
            bullets: components["schemas"]["Bullet"][];
            /** @default [] */
            items: components["schemas"]["Item"][];
            /** @default [] */
            related: components["schemas"]["Bullet"][];
            tokens: number;
            confidence: number | null;
            degraded: string | null;
        };
        /**
         * @description What somebody says of a memory; of each, the latest counts.
         *
         *     ``by`` is the user, or the agent where ``is_agent``. ``query`` is the question that the memory
         *     was shown for, ``thread_id`` the conversation.
         */
        Rating: {
            verdict: components["schemas"]["Verdict"];
            by: string;
            is_agent: boolean;
            /** Format: date-time */
            at: string;
            reason?: string | null;
            query?: string | null;
            thread_id?: string | null;
        };
        /**
         * @description A memory that a prompt shows. ``confidence`` is None where its theme is always shown.
         *     ``owner_id`` is whose it is, None for the user's own.
         */
        RecalledMemory: {
            id: number;
            theme: string;
            /** Format: date-time */
            since: string;
            text: string;
            confidence: number | null;
            type: components["schemas"]["MemoryType"];
            owner_id?: string | null;
        };
        /**
         * @description Something said earlier that a prompt shows. ``superseded`` has what of it is no longer
         *     current; the prompt says so, too. Of a long turn ``part`` is the place of the piece that is
         *     quoted.
         */
        RecalledTurn: {
            turn_id: number;
            thread_id: string;
            /** Format: date-time */
            at: string;
            speaker: string;
            text: string;
            confidence: number;
            /** @default [] */
            superseded: components["schemas"]["SupersededStatement"][];
            part?: components["schemas"]["TurnPart"] | null;
        };
        /** @description A memory related to another one. ``names`` are of those whom both mention. */
        Related: {
            id: number;
            theme: string;
            type: components["schemas"]["MemoryType"];
            content: string;
            similarity: number;
            /** @default [] */
            names: string[];
        };
        /**
         * @description Two related memories, the lower id first, their similarity, and the ``names`` of those whom
         *     both mention.
         */
        RelationEdge: {
            one: number;
            other: number;
            similarity: number;
            /** @default [] */
            names: string[];
        };
        /**
         * @description Memories, the most connected first, the relations among them, the closest first, and the
         *     ``entities`` that memories mention, the most mentioned first.
         *
         *     ``more`` says that other memories were left out.
         */
        RelationGraph: {
            memories: components["schemas"]["Item"][];
            relations: components["schemas"]["RelationEdge"][];
            more: boolean;
            /** @default [] */
            entities: components["schemas"]["NamedEntity"][];
        };
        RevisionResponse: {
            revision: number;
        };
        /**
         * @description The result of one round of a user's upkeep.
         *
         *     ``forgotten`` memories were soft-deleted, ``trimmed`` counts deleted rows of old events,
         *     counters and notes, ``unrelated`` deleted relations, ``vectors_asked`` texts that wait for
         *     vectors. ``queued`` are the kinds of the jobs for the rest.
         */
        RoundReport: {
            /** @default 0 */
            forgotten: number;
            /** @default 0 */
            trimmed: number;
            /** @default 0 */
            unrelated: number;
            /** @default 0 */
            vectors_asked: number;
            /** @default [] */
            queued: string[];
        };
        /**
         * @description The API that tool schemas are for.
         * @enum {string}
         */
        SchemaForm: "openai" | "openai_responses" | "anthropic";
        /**
         * @description The hits, the best first.
         *
         *     ``confidence`` is that of the best one, also where it is so unlikely that there are no results;
         *     None where nothing was found. ``degraded`` says why the
         *     search used words only, None where it did not. ``timings`` are milliseconds: ``embed_ms`` for
         *     the query's vector, ``search_ms`` for the rest.
         */
        SearchResults_MemoryHit_: {
            results: components["schemas"]["MemoryHit"][];
            confidence?: number | null;
            degraded?: string | null;
            timings?: {
                [key: string]: number;
            };
        };
        /**
         * @description The hits, the best first.
         *
         *     ``confidence`` is that of the best one, also where it is so unlikely that there are no results;
         *     None where nothing was found. ``degraded`` says why the
         *     search used words only, None where it did not. ``timings`` are milliseconds: ``embed_ms`` for
         *     the query's vector, ``search_ms`` for the rest.
         */
        SearchResults_TurnHit_: {
            results: components["schemas"]["TurnHit"][];
            confidence?: number | null;
            degraded?: string | null;
            timings?: {
                [key: string]: number;
            };
        };
        /** @description The score of each signal for a hit, 0 to 1 relative to all results; None without one. */
        Signals: {
            fts: number | null;
            semantic: number | null;
        };
        /**
         * @description How a memory came to be known.
         * @enum {string}
         */
        Source: "user_explicit" | "conversation" | "tool_call" | "auto_discovery" | "system" | "import" | "file";
        /**
         * @description The status of a memory; ``model/item.py`` has the legal transitions.
         * @enum {string}
         */
        Status: "active" | "archived" | "superseded" | "deleted";
        /**
         * @description The narrative about a user.
         *
         *     It was made from the memories as of ``revision``; ``is_current`` says whether they have changed
         *     since. ``made_by`` is a model, or ``template``.
         */
        Summary: {
            content: string;
            revision: number;
            made_by: string;
            /** Format: date-time */
            updated_at: string;
            is_current: boolean;
        };
        /**
         * @description What a turn said that is no longer so: as a superseded memory, its id, content and words in
         *     the turn; or the turn itself, without an id.
         *
         *     ``now`` is what is current instead and ``by`` the id of that memory; None where it is unknown.
         */
        SupersededStatement: {
            id: number | null;
            content: string;
            quote: string | null;
            /** Format: date-time */
            since: string;
            by: number | null;
            now: string | null;
        };
        /** @description A heading with the number of active memories that its user sees under it. */
        Theme: {
            slug: string;
            display_name: string;
            description: string | null;
            context: components["schemas"]["ContextPolicy"];
            rag_length: number | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @default 0 */
            active_count: number;
        };
        /**
         * @description A conversation of one user, about a project or about none.
         *
         *     Memories have been formed up to turn ``formed_position``, 0 for none. ``observed_at`` is when
         *     something was last recorded; None while it was only imported: then memories are formed from it
         *     on request only.
         */
        Thread: {
            thread_id: string;
            title: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            turn_count: number;
            formed_position: number;
            observed_at: string | null;
            project_id?: string | null;
        };
        /**
         * @description Where the tokens of a request go. ``total`` is never more than ``budget``.
         *
         *     ``system`` is the system text without memories; ``memories`` has recalled ones, changes and the
         *     narrative; ``history`` the earlier turns and the summary of those before; ``tools`` the schemas
         *     of tools; ``reply`` what is reserved for the answer.
         */
        TokenSplit: {
            budget: number;
            system: number;
            memories: number;
            history: number;
            message: number;
            tools: number;
            reply: number;
        };
        /** @description What to tell the model; where ``is_error`` is true, that it has made a mistake. */
        ToolAnswer: {
            result: {
                [key: string]: unknown;
            };
            is_error: boolean;
        };
        /**
         * @description One stored message. ``position`` counts from 1 within the thread.
         *
         *     ``observed_by`` is the agent that recorded it; None where the user or their own program did.
         *     ``ended_at``: since then what it says is known to be no longer so.
         */
        Turn: {
            id: number;
            thread_id: string;
            position: number;
            message_id: string | null;
            role: string;
            actor: string | null;
            content: string;
            tool_calls: unknown[] | null;
            /** Format: date-time */
            at: string;
            observed_by?: components["schemas"]["Observer"] | null;
            ended_at?: string | null;
        };
        /**
         * @description A found turn. ``superseded`` has what it said that is no longer current.
         *
         *     Of a long turn ``part`` is the place of the piece that was found, which the snippet is of; None
         *     for a whole turn.
         */
        TurnHit: {
            id: number;
            content_snippet: string;
            score: number;
            confidence: number;
            signals: components["schemas"]["Signals"];
            explanation?: {
                [key: string]: unknown;
            } | null;
            thread_id: string;
            message_id: string | null;
            actor: string | null;
            role: string;
            /** Format: date-time */
            at: string;
            /** @default [] */
            superseded: components["schemas"]["SupersededStatement"][];
            part?: components["schemas"]["TurnPart"] | null;
        };
        /** @description The characters of a turn from ``start`` to before ``end``. */
        TurnPart: {
            start: number;
            end: number;
        };
        /**
         * @description What an undo of a memory would revert.
         * @enum {string}
         */
        Undoable: "replacement" | "update";
        /**
         * @description The state of a vector.
         * @enum {string}
         */
        VectorState: "pending" | "ready" | "error";
        /**
         * @description What a rating says of a memory: it helped, it was never true, it is true no longer; or that
         *     the rating before is taken back.
         * @enum {string}
         */
        Verdict: "used" | "wrong" | "outdated" | "withdrawn";
        /**
         * @description An address that changes are delivered to, in order.
         *
         *     ``user_id`` is whose changes; None for those of all users, which only an operator has.
         *     ``events`` are the kinds of change that are delivered; without any, all of them. ``reason`` says
         *     why it is paused. After a failure, ``failures`` counts the attempts in vain since
         *     ``failing_since``, and the next one is at ``next_attempt_at``. Until ``old_secret_until`` the
         *     secret before the last rotation signs, too.
         */
        Webhook: {
            id: string;
            user_id: string | null;
            url: string;
            events: components["schemas"]["Event"][];
            project_id: string | null;
            state: components["schemas"]["WebhookState"];
            reason: string | null;
            failures: number;
            failing_since: string | null;
            next_attempt_at: string | null;
            last_error: string | null;
            last_delivered_at: string | null;
            old_secret_until: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /**
         * @description One request to the address of a webhook.
         *
         *     ``message_id`` is its ``webhook-id``, the same for every attempt. It was about the ``changes``
         *     of ``user_id`` from ``first_revision`` to ``last_revision``; a ping is about none. ``status`` is
         *     that of the answer, if there was one.
         */
        WebhookDelivery: {
            id: number;
            webhook_id: string;
            message_id: string;
            type: string;
            user_id: string | null;
            first_revision: number | null;
            last_revision: number | null;
            changes: number;
            /** Format: date-time */
            at: string;
            attempt: number;
            delivered: boolean;
            status: number | null;
            milliseconds: number;
            error: string | null;
        };
        /** @description A webhook with the secret that signs what it sends: it is shown only this once. */
        WebhookSecret: {
            webhook: components["schemas"]["Webhook"];
            secret: string;
        };
        /**
         * @description Whether a webhook delivers changes. A paused one goes on where it was once it is resumed.
         * @enum {string}
         */
        WebhookState: "active" | "paused";
        /**
         * @description A conversation as a prompt shows it: the latest turns, and a summary of those before.
         *
         *     ``bridge`` summarises everything up to and including the turn ``compacted_to``; None where
         *     nothing came before ``turns``. ``today`` is what else the user talked about that day, for a
         *     resumed conversation. ``is_provisional`` says that the bridge was extracted for this call,
         *     because the summary is not made yet.
         */
        Window: {
            thread_id: string;
            bridge: string | null;
            today: string | null;
            turns: components["schemas"]["Turn"][];
            compacted_to: number;
            is_provisional: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AccessScope = components['schemas']['AccessScope'];
export type Action = components['schemas']['Action'];
export type ActivityEvent = components['schemas']['ActivityEvent'];
export type Added = components['schemas']['Added'];
export type AuditReport = components['schemas']['AuditReport'];
export type BlockedSender = components['schemas']['BlockedSender'];
export type Bullet = components['schemas']['Bullet'];
export type CallRequest = components['schemas']['CallRequest'];
export type Change = components['schemas']['Change'];
export type Changes = components['schemas']['Changes'];
export type Checkpoint = components['schemas']['Checkpoint'];
export type CheckpointInfo = components['schemas']['CheckpointInfo'];
export type ChoiceOrigin = components['schemas']['ChoiceOrigin'];
export type CompactionReport = components['schemas']['CompactionReport'];
export type ConsolidationReport = components['schemas']['ConsolidationReport'];
export type Context = components['schemas']['Context'];
export type ContextPolicy = components['schemas']['ContextPolicy'];
export type Counters = components['schemas']['Counters'];
export type DayActivity = components['schemas']['DayActivity'];
export type DayEntry = components['schemas']['DayEntry'];
export type DayLog = components['schemas']['DayLog'];
export type Decision = components['schemas']['Decision'];
export type EmbeddingBackfill = components['schemas']['EmbeddingBackfill'];
export type EmbeddingChange = components['schemas']['EmbeddingChange'];
export type EmbeddingState = components['schemas']['EmbeddingState'];
export type EmbeddingStatus = components['schemas']['EmbeddingStatus'];
export type EmbeddingTest = components['schemas']['EmbeddingTest'];
export type Event = components['schemas']['Event'];
export type EventStatus = components['schemas']['EventStatus'];
export type Feedback = components['schemas']['Feedback'];
export type FieldOutcome = components['schemas']['FieldOutcome'];
export type FieldUpdate = components['schemas']['FieldUpdate'];
export type Finding = components['schemas']['Finding'];
export type Findings = components['schemas']['Findings'];
export type FormationReport = components['schemas']['FormationReport'];
export type FormedTurn = components['schemas']['FormedTurn'];
export type Grant = components['schemas']['Grant'];
export type GroupMember = components['schemas']['GroupMember'];
export type GroupRole = components['schemas']['GroupRole'];
export type ImportReport = components['schemas']['ImportReport'];
export type Item = components['schemas']['Item'];
export type Lineage = components['schemas']['Lineage'];
export type Link = components['schemas']['Link'];
export type LinkState = components['schemas']['LinkState'];
export type MadeResponse = components['schemas']['MadeResponse'];
export type Membership = components['schemas']['Membership'];
export type MemoryHit = components['schemas']['MemoryHit'];
export type MemoryType = components['schemas']['MemoryType'];
export type NamedEntity = components['schemas']['NamedEntity'];
export type Observed = components['schemas']['Observed'];
export type Observer = components['schemas']['Observer'];
export type OfferedTools = components['schemas']['OfferedTools'];
export type PageActivityEvent = components['schemas']['Page_ActivityEvent_'];
export type PageCheckpointInfo = components['schemas']['Page_CheckpointInfo_'];
export type PageFormedTurn = components['schemas']['Page_FormedTurn_'];
export type PageItem = components['schemas']['Page_Item_'];
export type PageProposal = components['schemas']['Page_Proposal_'];
export type PageThread = components['schemas']['Page_Thread_'];
export type PageTurn = components['schemas']['Page_Turn_'];
export type PairAction = components['schemas']['PairAction'];
export type PairDecision = components['schemas']['PairDecision'];
export type PastDecision = components['schemas']['PastDecision'];
export type Problem = components['schemas']['Problem'];
export type Profile = components['schemas']['Profile'];
export type ProfileField = components['schemas']['ProfileField'];
export type ProfileUpdate = components['schemas']['ProfileUpdate'];
export type Project = components['schemas']['Project'];
export type Proposal = components['schemas']['Proposal'];
export type ProposalKind = components['schemas']['ProposalKind'];
export type ProposalState = components['schemas']['ProposalState'];
export type Proposed = components['schemas']['Proposed'];
export type PurgedResponse = components['schemas']['PurgedResponse'];
export type QueryAnswer = components['schemas']['QueryAnswer'];
export type Rating = components['schemas']['Rating'];
export type RecalledMemory = components['schemas']['RecalledMemory'];
export type RecalledTurn = components['schemas']['RecalledTurn'];
export type Related = components['schemas']['Related'];
export type RelationEdge = components['schemas']['RelationEdge'];
export type RelationGraph = components['schemas']['RelationGraph'];
export type RevisionResponse = components['schemas']['RevisionResponse'];
export type RoundReport = components['schemas']['RoundReport'];
export type SchemaForm = components['schemas']['SchemaForm'];
export type SearchResultsMemoryHit = components['schemas']['SearchResults_MemoryHit_'];
export type SearchResultsTurnHit = components['schemas']['SearchResults_TurnHit_'];
export type Signals = components['schemas']['Signals'];
export type Source = components['schemas']['Source'];
export type Status = components['schemas']['Status'];
export type Summary = components['schemas']['Summary'];
export type SupersededStatement = components['schemas']['SupersededStatement'];
export type Theme = components['schemas']['Theme'];
export type Thread = components['schemas']['Thread'];
export type TokenSplit = components['schemas']['TokenSplit'];
export type ToolAnswer = components['schemas']['ToolAnswer'];
export type Turn = components['schemas']['Turn'];
export type TurnHit = components['schemas']['TurnHit'];
export type TurnPart = components['schemas']['TurnPart'];
export type Undoable = components['schemas']['Undoable'];
export type VectorState = components['schemas']['VectorState'];
export type Verdict = components['schemas']['Verdict'];
export type Webhook = components['schemas']['Webhook'];
export type WebhookDelivery = components['schemas']['WebhookDelivery'];
export type WebhookSecret = components['schemas']['WebhookSecret'];
export type WebhookState = components['schemas']['WebhookState'];
export type Window = components['schemas']['Window'];
export type $defs = Record<string, never>;
export interface operations {
    list_threads: {
        parameters: {
            query?: {
                /** @description Only those of this project. */
                project_id?: string | null;
                /** @description How many entries at most. */
                limit?: number;
                /** @description Where to go on: next_cursor of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Thread_"];
                };
            };
        };
    };
    form: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description The conversation.
                     * @example monday
                     */
                    thread?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FormationReport"];
                };
            };
        };
    };
    read_todays_log: {
        parameters: {
            query?: {
                /**
                 * @description The day; today by default.
                 * @example 2026-05-01
                 */
                day?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DayLog"];
                };
            };
        };
    };
    search_turns: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description What to look for.
                     * @example Where did I say I was moving to?
                     */
                    query: string;
                    /** @description How many entries at most. */
                    limit?: number;
                    /** @description Only in this conversation. */
                    thread?: string | null;
                    /**
                     * @description Only in this role.
                     * @example user
                     */
                    role?: string | null;
                    /** @description Only by this speaker. */
                    actor?: string | null;
                    /**
                     * @description Said at or after this time.
                     * @example 2026-05-01
                     */
                    since?: string | null;
                    /** @description Said before this time. */
                    until?: string | null;
                    /** @description Only what is at least this sure to be an answer, 0 to 1; 0 for all. */
                    threshold?: number | null;
                    /** @description Show every part of every score. */
                    explain?: boolean;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResults_TurnHit_"];
                };
            };
        };
    };
    read_thread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Thread"];
                };
            };
        };
    };
    observe: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description What was said, in order. */
                    messages: {
                        /** @example user */
                        role: string;
                        /**
                         * @description What was said; a message that only calls tools may do without.
                         * @example I moved to Bekasi in May.
                         */
                        content?: string | null;
                        /** @description Who speaks, where that is not the user. */
                        actor?: string | null;
                        /**
                         * @description When; now by default.
                         * @example 2026-05-01T09:30:00Z
                         */
                        at?: string | null;
                        /**
                         * @description The message's own id: sent again, it is recorded once.
                         * @example message-1
                         */
                        id?: string | null;
                        /** @description Calls of tools, as JSON. */
                        tool_calls?: unknown[] | null;
                    }[];
                    /** @description What the conversation is called. */
                    title?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Observed"];
                };
            };
        };
    };
    list_turns: {
        parameters: {
            query?: {
                /** @description How many entries at most. */
                limit?: number;
                /** @description Where to go on: next_cursor of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Turn_"];
                };
            };
        };
    };
    redact_turn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread_id: string;
                /**
                 * @description Which turn, from 1 on.
                 * @example 3
                 */
                position: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description These words.
                     * @example qwerty
                     */
                    text?: string | null;
                    /** @description All of the turn. */
                    whole?: boolean;
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Turn"];
                };
            };
        };
    };
    read_window: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Window"];
                };
            };
        };
    };
    compact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionReport"];
                };
            };
        };
    };
    resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Window"];
                };
            };
        };
    };
    form_thread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread: string | null;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FormationReport"];
                };
            };
        };
    };
    read_log: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The day; today by default.
                 * @example 2026-05-01
                 */
                day: string | null;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DayLog"];
                };
            };
        };
    };
    read_source_turn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Turn"] | null;
                };
            };
        };
    };
    list_formed_turns: {
        parameters: {
            query?: {
                /**
                 * @description The turn to begin with.
                 * @example 20
                 */
                from_position?: number | null;
                /** @description How many entries at most. */
                limit?: number;
                /** @description Where to go on: next_cursor of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_FormedTurn_"];
                };
            };
        };
    };
    read_summary: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Summary"] | null;
                };
            };
        };
    };
    audit: {
        parameters: {
            query?: {
                /**
                 * @description Only the decisions of this conversation.
                 * @example monday
                 */
                thread?: string | null;
                /** @description Only these decisions. */
                action?: ("add" | "update" | "replace" | "unlink" | "close" | "ignore" | "reject" | "propose" | "defer") | null;
                /** @description How many decisions and findings of each kind are listed; counts are complete. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditReport"];
                };
            };
        };
    };
    upkeep: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundReport"];
                };
            };
        };
    };
    consolidate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Say what would be done, and do nothing. */
                    dry_run?: boolean;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsolidationReport"];
                };
            };
        };
    };
    list_events: {
        parameters: {
            query?: {
                /**
                 * @description The conversation.
                 * @example monday
                 */
                thread?: string | null;
                /** @description How many entries at most. */
                limit?: number;
                /** @description Where to go on: next_cursor of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_ActivityEvent_"];
                };
            };
        };
    };
    read_counters: {
        parameters: {
            query?: {
                /** @description Only the last ones, today included. */
                days?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Counters"];
                };
            };
        };
    };
    read_daily: {
        parameters: {
            query?: {
                /** @description How many days, today included. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DayActivity"][];
                };
            };
        };
    };
    list_checkpoints: {
        parameters: {
            query?: {
                /** @description How many entries at most. */
                limit?: number;
                /** @description Where to go on: next_cursor of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_CheckpointInfo_"];
                };
            };
        };
    };
    read_embeddings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingStatus"];
                };
            };
        };
    };
    set_embeddings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description local, llamacpp, ollama, openai, mistral, gemini, custom_http, none or default.
                     * @example local
                     */
                    provider: string;
                    /** @description Default: the provider's usual one. */
                    model?: string | null;
                    /** @description Address, up to before /embeddings. */
                    base_url?: string | null;
                    /** @description Stored encrypted, and never shown again. */
                    api_key?: string | null;
                    /** @description How wide vectors are. */
                    dimensions?: number | null;
                    /** @description Do it. Otherwise the answer says what it would mean. */
                    confirm?: boolean;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingChange"];
                };
            };
        };
    };
    reset_embeddings: {
        parameters: {
            query?: {
                /** @description Do it. Otherwise the answer says what it would mean. */
                confirm?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingChange"];
                };
            };
        };
    };
    read_embedding_states: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The memories.
                     * @example [
                     *       7,
                     *       9
                     *     ]
                     */
                    ids: number[];
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingState"][];
                };
            };
        };
    };
    test_embeddings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description local, llamacpp, ollama, openai, mistral, gemini, custom_http, none or default.
                     * @example local
                     */
                    provider?: string | null;
                    /** @description Default: the provider's usual one. */
                    model?: string | null;
                    /** @description Address, up to before /embeddings. */
                    base_url?: string | null;
                    /** @description Stored encrypted, and never shown again. */
                    api_key?: string | null;
                    /** @description How wide vectors are. */
                    dimensions?: number | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingTest"];
                };
            };
        };
    };
    rebuild_embeddings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Do it. Otherwise the answer says what it would mean. */
                    confirm?: boolean;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingChange"];
                };
            };
        };
    };
    backfill_embeddings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingBackfill"];
                };
            };
        };
    };
    fill_embeddings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeResponse"];
                };
            };
        };
    };
    list_grants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"][];
                };
            };
        };
    };
    revoke_grant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description What the program was allowed. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
        };
    };
    list_memories: {
        parameters: {
            query?: {
                /** @description What to sort by. */
                sort?: "id" | "theme" | "type" | "key" | "content" | "source" | "status" | "confidence" | "importance" | "pinned" | "valid_from" | "valid_to" | "expires_at" | "purge_at" | "created_at" | "updated_at" | "last_accessed_at" | "last_verified_at" | "access_count";
                /** @description asc or desc. */
                order?: "asc" | "desc";
                /** @description How many entries at most. */
                limit?: number;
                /** @description Where to go on: next_cursor of the page before. */
                cursor?: string | null;
                /** @description Any of these; default: active. */
                status?: ("active" | "archived" | "superseded" | "deleted" | "any")[];
                /** @description Any of these headings. */
                theme?: string[];
                /** @description Any of these. */
                type?: ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other")[];
                /** @description Any of these. */
                source?: ("user_explicit" | "conversation" | "tool_call" | "auto_discovery" | "system" | "import" | "file")[];
                /** @description Has all of these tags. */
                tags?: string[];
                /** @description Has this key. */
                key?: string | null;
                /** @description Was learnt exactly there. */
                source_context?: string | null;
                /** @description Has this text in it, in any case, accents or not. */
                contains?: string | null;
                /** @description Comes from this conversation. */
                thread_id?: string | null;
                /** @description Comes from this message. */
                message_id?: string | null;
                /** @description Was learnt by this agent. */
                agent_id?: string | null;
                /** @description Was learnt in this run. */
                run_id?: string | null;
                /** @description Was said by them. */
                actor_id?: string | null;
                /** @description Was said in this role. */
                role?: string | null;
                /** @description Is about this project. */
                project_id?: string | null;
                /** @description Any of these: own; shared, of the own with other users; received from another user; a group's; global. */
                ownership?: ("own" | "shared" | "received" | "group" | "global")[];
                /** @description Only pinned ones, or only others. */
                pinned?: boolean | null;
                /** @description At least this important: 1 to 5. */
                importance_min?: number | null;
                /** @description At most this important: 1 to 5. */
                importance_max?: number | null;
                /** @description At least this sure: 0 to 100. */
                confidence_min?: number | null;
                /** @description Noted at or after this time. */
                created_after?: string | null;
                /** @description Noted before this time. */
                created_before?: string | null;
                /** @description Changed at or after this time. */
                updated_after?: string | null;
                /** @description Changed before this time. */
                updated_before?: string | null;
                /** @description What was true at this time. */
                as_of?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Item_"];
                };
            };
        };
    };
    add_memory: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @example Prefers tea to coffee in the afternoon */
                    content: string;
                    /** @description The memory whose place it takes. */
                    supersedes?: number | null;
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                    /**
                     * @description The heading it is filed under.
                     * @example drinks
                     */
                    theme?: string | null;
                    /**
                     * @description Another name for theme.
                     * @example drinks
                     */
                    category?: string | null;
                    /**
                     * @description What it is.
                     * @example preference
                     */
                    type?: ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other") | null;
                    /**
                     * @description What this is the value of: a new one updates the old one.
                     * @example favourite drink
                     */
                    key?: string | null;
                    /**
                     * @description Labels to find it by.
                     * @example [
                     *       "hot",
                     *       "daily"
                     *     ]
                     */
                    tags?: string[] | null;
                    /** @description Where it comes from. */
                    source?: ("user_explicit" | "conversation" | "tool_call" | "auto_discovery" | "system" | "import" | "file") | null;
                    /** @description Where it was learnt, in words. */
                    source_context?: string | null;
                    /** @description The conversation it comes from. */
                    thread_id?: string | null;
                    /** @description The message it comes from. */
                    message_id?: string | null;
                    /** @description The agent that learnt it. */
                    agent_id?: string | null;
                    /** @description The run of that agent. */
                    run_id?: string | null;
                    /** @description The project it is about. */
                    project_id?: string | null;
                    /** @description Who said it. */
                    actor_id?: string | null;
                    /**
                     * @description In which role it was said.
                     * @example user
                     */
                    role?: string | null;
                    /** @description How sure it is: 0 to 100. */
                    confidence?: number | null;
                    /** @description How much it matters: 1 to 5. */
                    importance?: number | null;
                    /** @description One to keep, whatever happens. */
                    pinned?: boolean | null;
                    /** @description Since when it holds; now by default. */
                    valid_from?: string | null;
                    /** @description Until when it holds. */
                    valid_to?: string | null;
                    /** @description When it is to be forgotten. */
                    expires_at?: string | null;
                    /** @description When it was noted, where that was earlier. */
                    created_at?: string | null;
                };
            };
        };
        responses: {
            /** @description It was there already, or was updated. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Added"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Added"];
                };
            };
            /** @description Nobody asked for it, and it is sensitive or a wish: it waits for consent. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Proposed"];
                };
            };
        };
    };
    add_memories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description What to keep, in order. */
                    memories: {
                        /** @example Prefers tea to coffee in the afternoon */
                        content: string;
                        /**
                         * @description The heading it is filed under.
                         * @example drinks
                         */
                        theme?: string | null;
                        /**
                         * @description What it is.
                         * @example preference
                         */
                        type?: ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other") | null;
                        /**
                         * @description What this is the value of: a new one updates the old one.
                         * @example favourite drink
                         */
                        key?: string | null;
                        /**
                         * @description Labels to find it by.
                         * @example [
                         *       "hot",
                         *       "daily"
                         *     ]
                         */
                        tags?: string[] | null;
                        /** @description Where it comes from. */
                        source?: ("user_explicit" | "conversation" | "tool_call" | "auto_discovery" | "system" | "import" | "file") | null;
                        /** @description Where it was learnt, in words. */
                        source_context?: string | null;
                        /** @description The conversation it comes from. */
                        thread_id?: string | null;
                        /** @description The message it comes from. */
                        message_id?: string | null;
                        /** @description The agent that learnt it. */
                        agent_id?: string | null;
                        /** @description The run of that agent. */
                        run_id?: string | null;
                        /** @description The project it is about. */
                        project_id?: string | null;
                        /** @description Who said it. */
                        actor_id?: string | null;
                        /**
                         * @description In which role it was said.
                         * @example user
                         */
                        role?: string | null;
                        /** @description How sure it is: 0 to 100. */
                        confidence?: number | null;
                        /** @description How much it matters: 1 to 5. */
                        importance?: number | null;
                        /** @description One to keep, whatever happens. */
                        pinned?: boolean | null;
                        /** @description Since when it holds; now by default. */
                        valid_from?: string | null;
                        /** @description Until when it holds. */
                        valid_to?: string | null;
                        /** @description When it is to be forgotten. */
                        expires_at?: string | null;
                        /** @description When it was noted, where that was earlier. */
                        created_at?: string | null;
                    }[];
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Added"][];
                };
            };
        };
    };
    get_memories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The memories.
                     * @example [
                     *       7,
                     *       9
                     *     ]
                     */
                    ids: number[];
                    /** @description Also what was forgotten. */
                    include_deleted?: boolean;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"][];
                };
            };
        };
    };
    search_memories_by_address: {
        parameters: {
            query?: {
                /**
                 * @description What to look for; * is everything, newest first.
                 * @example what does she drink
                 */
                query?: string;
                /** @description How many entries at most. */
                limit?: number;
                /** @description Only what was noted in the last so many days. */
                recency_days?: number | null;
                /** @description Only what is at least this sure to be an answer, 0 to 1; 0 for all. */
                threshold?: number | null;
                /** @description Show every part of every score. */
                explain?: boolean;
                /** @description Any of these; default: active. */
                status?: ("active" | "archived" | "superseded" | "deleted" | "any")[];
                /** @description Any of these headings. */
                theme?: string[];
                /** @description Any of these. */
                type?: ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other")[];
                /** @description Any of these. */
                source?: ("user_explicit" | "conversation" | "tool_call" | "auto_discovery" | "system" | "import" | "file")[];
                /** @description Has all of these tags. */
                tags?: string[];
                /** @description Has this key. */
                key?: string | null;
                /** @description Was learnt exactly there. */
                source_context?: string | null;
                /** @description Has this text in it, in any case, accents or not. */
                contains?: string | null;
                /** @description Comes from this conversation. */
                thread_id?: string | null;
                /** @description Comes from this message. */
                message_id?: string | null;
                /** @description Was learnt by this agent. */
                agent_id?: string | null;
                /** @description Was learnt in this run. */
                run_id?: string | null;
                /** @description Was said by them. */
                actor_id?: string | null;
                /** @description Was said in this role. */
                role?: string | null;
                /** @description Is about this project. */
                project_id?: string | null;
                /** @description Any of these: own; shared, of the own with other users; received from another user; a group's; global. */
                ownership?: ("own" | "shared" | "received" | "group" | "global")[];
                /** @description Only pinned ones, or only others. */
                pinned?: boolean | null;
                /** @description At least this important: 1 to 5. */
                importance_min?: number | null;
                /** @description At most this important: 1 to 5. */
                importance_max?: number | null;
                /** @description At least this sure: 0 to 100. */
                confidence_min?: number | null;
                /** @description Noted at or after this time. */
                created_after?: string | null;
                /** @description Noted before this time. */
                created_before?: string | null;
                /** @description Changed at or after this time. */
                updated_after?: string | null;
                /** @description Changed before this time. */
                updated_before?: string | null;
                /** @description What was true at this time. */
                as_of?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResults_MemoryHit_"];
                };
            };
        };
    };
    search_memories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description What to look for; * is everything, newest first.
                     * @example what does she drink
                     */
                    query?: string;
                    /** @description How many entries at most. */
                    limit?: number;
                    /** @description Only what was noted in the last so many days. */
                    recency_days?: number | null;
                    /** @description Only what is at least this sure to be an answer, 0 to 1; 0 for all. */
                    threshold?: number | null;
                    /** @description Show every part of every score. */
                    explain?: boolean;
                    /** @description Any of these; default: active. */
                    status?: ("active" | "archived" | "superseded" | "deleted" | "any")[] | ("active" | "archived" | "superseded" | "deleted" | "any") | null;
                    /** @description Any of these headings. */
                    theme?: string[] | string | null;
                    /** @description Another name for theme. */
                    category?: string[] | string | null;
                    /** @description Any of these. */
                    type?: ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other")[] | ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other") | null;
                    /** @description Any of these. */
                    source?: ("user_explicit" | "conversation" | "tool_call" | "auto_discovery" | "system" | "import" | "file")[] | ("user_explicit" | "conversation" | "tool_call" | "auto_discovery" | "system" | "import" | "file") | null;
                    /** @description Has all of these tags. */
                    tags?: string[] | string | null;
                    /** @description Has this key. */
                    key?: string | null;
                    /** @description Was learnt exactly there. */
                    source_context?: string | null;
                    /** @description Has this text in it, in any case, accents or not. */
                    contains?: string | null;
                    /** @description Comes from this conversation. */
                    thread_id?: string | null;
                    /** @description Comes from this message. */
                    message_id?: string | null;
                    /** @description Was learnt by this agent. */
                    agent_id?: string | null;
                    /** @description Was learnt in this run. */
                    run_id?: string | null;
                    /** @description Was said by them. */
                    actor_id?: string | null;
                    /** @description Was said in this role. */
                    role?: string | null;
                    /** @description Is about this project. */
                    project_id?: string | null;
                    /** @description Any of these: own; shared, of the own with other users; received from another user; a group's; global. */
                    ownership?: ("own" | "shared" | "received" | "group" | "global")[] | ("own" | "shared" | "received" | "group" | "global") | null;
                    /** @description Only pinned ones, or only others. */
                    pinned?: boolean | null;
                    /** @description At least this important: 1 to 5. */
                    importance_min?: number | null;
                    /** @description At most this important: 1 to 5. */
                    importance_max?: number | null;
                    /** @description At least this sure: 0 to 100. */
                    confidence_min?: number | null;
                    /** @description Noted at or after this time. */
                    created_after?: string | null;
                    /** @description Noted before this time. */
                    created_before?: string | null;
                    /** @description Changed at or after this time. */
                    updated_after?: string | null;
                    /** @description Changed before this time. */
                    updated_before?: string | null;
                    /** @description What was true at this time. */
                    as_of?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResults_MemoryHit_"];
                };
            };
        };
    };
    read_graph: {
        parameters: {
            query?: {
                /**
                 * @description The theme; all of them by default.
                 * @example drinks
                 */
                theme?: string | null;
                /** @description How many memories at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationGraph"];
                };
            };
        };
    };
    get_memory: {
        parameters: {
            query?: {
                /** @description Also what was forgotten. */
                include_deleted?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    forget_memory: {
        parameters: {
            query?: {
                /**
                 * @description Instead of an id: whatever has this key.
                 * @example favourite drink
                 */
                key?: string | null;
                /**
                 * @description Only the key in this theme.
                 * @example drinks
                 */
                theme?: string | null;
                /**
                 * @description Why; kept in the history.
                 * @example asked for it
                 */
                reason?: string | null;
                /** @description Only if it was last changed exactly then (its updated_at). */
                expected_updated_at?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number | null;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    memory_history: {
        parameters: {
            query?: {
                /** @description How many entries at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Change"][];
                };
            };
        };
    };
    memory_lineage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Lineage"];
                };
            };
        };
    };
    related_memories: {
        parameters: {
            query?: {
                /** @description How many entries at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Related"][];
                };
            };
        };
    };
    forget_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description The memory.
                     * @example 7
                     */
                    id?: number | null;
                    /**
                     * @description Instead of an id: whatever has this key.
                     * @example favourite drink
                     */
                    key?: string | null;
                    /**
                     * @description Only the key in this theme.
                     * @example drinks
                     */
                    theme?: string | null;
                    /**
                     * @description Another name for theme.
                     * @example drinks
                     */
                    category?: string | null;
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                    /** @description Only if it was last changed exactly then (its updated_at). */
                    expected_updated_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"][];
                };
            };
        };
    };
    merge_memories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The memories to merge.
                     * @example [
                     *       7,
                     *       9
                     *     ]
                     */
                    ids: number[];
                    content: string;
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                    /**
                     * @description The heading it is filed under.
                     * @example drinks
                     */
                    theme?: string | null;
                    /**
                     * @description Another name for theme.
                     * @example drinks
                     */
                    category?: string | null;
                    /**
                     * @description What it is.
                     * @example preference
                     */
                    type?: ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other") | null;
                    /**
                     * @description What this is the value of: a new one updates the old one.
                     * @example favourite drink
                     */
                    key?: string | null;
                    /**
                     * @description Labels to find it by.
                     * @example [
                     *       "hot",
                     *       "daily"
                     *     ]
                     */
                    tags?: string[] | null;
                    /** @description Where it comes from. */
                    source?: ("user_explicit" | "conversation" | "tool_call" | "auto_discovery" | "system" | "import" | "file") | null;
                    /** @description Where it was learnt, in words. */
                    source_context?: string | null;
                    /** @description The conversation it comes from. */
                    thread_id?: string | null;
                    /** @description The message it comes from. */
                    message_id?: string | null;
                    /** @description The agent that learnt it. */
                    agent_id?: string | null;
                    /** @description The run of that agent. */
                    run_id?: string | null;
                    /** @description The project it is about. */
                    project_id?: string | null;
                    /** @description Who said it. */
                    actor_id?: string | null;
                    /**
                     * @description In which role it was said.
                     * @example user
                     */
                    role?: string | null;
                    /** @description How sure it is: 0 to 100. */
                    confidence?: number | null;
                    /** @description How much it matters: 1 to 5. */
                    importance?: number | null;
                    /** @description One to keep, whatever happens. */
                    pinned?: boolean | null;
                    /** @description Since when it holds; now by default. */
                    valid_from?: string | null;
                    /** @description Until when it holds. */
                    valid_to?: string | null;
                    /** @description When it is to be forgotten. */
                    expires_at?: string | null;
                    /** @description When it was noted, where that was earlier. */
                    created_at?: string | null;
                };
            };
        };
        responses: {
            /** @description It was there already, or was updated. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Added"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Added"];
                };
            };
        };
    };
    purge_memories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Everything that was forgotten, not only what is due. */
                    before_time?: boolean;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PurgedResponse"];
                };
            };
        };
    };
    archive_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                    /** @description Only if it was last changed exactly then (its updated_at). */
                    expected_updated_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    restore_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                    /** @description Only if it was last changed exactly then (its updated_at). */
                    expected_updated_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    pin_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description False: take the mark away. */
                    pinned?: boolean;
                    /** @description Only if it was last changed exactly then (its updated_at). */
                    expected_updated_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    verify_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Only if it was last changed exactly then (its updated_at). */
                    expected_updated_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    rate_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description used: it helped; wrong: never true; outdated: true no longer; withdrawn: take back what was said.
                     * @example used
                     * @enum {string}
                     */
                    verdict: "used" | "wrong" | "outdated" | "withdrawn";
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                    /** @description The question it was shown for. */
                    query?: string | null;
                    /** @description Only if it was last changed exactly then (its updated_at). */
                    expected_updated_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    undo_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                    /** @description Only if it was last changed exactly then (its updated_at). */
                    expected_updated_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    list_themes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Theme"][];
                };
            };
        };
    };
    list_projects: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"][];
                };
            };
        };
    };
    list_changes: {
        parameters: {
            query?: {
                /** @description The last revision that you know of. */
                since?: number;
                /** @description Only before this revision. */
                before?: number | null;
                /** @description Any of these kinds; default: all. */
                event?: ("ADD" | "UPDATE" | "ARCHIVE" | "DELETE" | "RESTORE" | "SUPERSEDE" | "MERGE" | "LINK" | "UNLINK" | "TTL" | "PURGE" | "CONSENT" | "PIN" | "VERIFY" | "UNDO" | "RATE")[];
                /** @description Only of memories of this project that are still kept. */
                project_id?: string | null;
                /** @description asc or desc. */
                order?: "asc" | "desc";
                /** @description How many entries at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changes"];
                };
            };
        };
    };
    get_revision: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevisionResponse"];
                };
            };
        };
    };
    describe_theme: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The theme, in any spelling.
                 * @example drinks
                 */
                theme: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description What it is called.
                     * @example Food and drink
                     */
                    display_name?: string | null;
                    /** @description What belongs under it; empty removes it. */
                    description?: string | null;
                    /**
                     * @description What prompts show of it.
                     * @example all
                     */
                    context?: ("all" | "rag") | null;
                    /** @description How many of its memories prompts show. */
                    rag_length?: number | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Theme"];
                };
            };
        };
    };
    list_proposals: {
        parameters: {
            query?: {
                /**
                 * @description Which of them.
                 * @example open
                 */
                state?: "open" | "approved" | "rejected" | "expired" | "any";
                /** @description How many entries at most. */
                limit?: number;
                /** @description Where to go on: next_cursor of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_Proposal_"];
                };
            };
        };
    };
    read_profile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
        };
    };
    update_profile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Fields by name; null removes one.
                     * @example {
                     *       "city": "Bekasi"
                     *     }
                     */
                    fields: {
                        [key: string]: string | null;
                    };
                    /** @description The user said so themselves: nothing waits for consent or repetition. */
                    explicit?: boolean;
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileUpdate"];
                };
            };
        };
    };
    approve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The proposal.
                 * @example 3
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Added"];
                };
            };
        };
    };
    reject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The proposal.
                 * @example 3
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Why; kept in the history.
                     * @example asked for it
                     */
                    reason?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Proposal"];
                };
            };
        };
    };
    list_links: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The memories.
                     * @example [
                     *       7,
                     *       9
                     *     ]
                     */
                    ids: number[];
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"][];
                };
            };
        };
    };
    blocked_senders: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockedSender"][];
                };
            };
        };
    };
    memory_links: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"][];
                };
            };
        };
    };
    link_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
                /**
                 * @description The other user.
                 * @example ben
                 */
                with_user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
        };
    };
    unlink_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The memory.
                 * @example 7
                 */
                id: number;
                /**
                 * @description The other user.
                 * @example ben
                 */
                with_user: string | null;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    block_sender: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The other user.
                 * @example ben
                 */
                sender: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockedSender"];
                };
            };
        };
    };
    unblock_sender: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The other user.
                 * @example ben
                 */
                sender: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    query_memories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Who asks; it gets what it may read. A key of an agent says so itself.
                     * @example planner
                     */
                    agent?: string | null;
                    /**
                     * @description What the agent needs to know.
                     * @example what is planned for May
                     */
                    query: string;
                    /** @description Only these. */
                    categories?: string[] | string | null;
                    /** @description Which memories may answer; all that are given must hold. */
                    filters?: {
                        /** @description Was said by them. */
                        actor_id?: string | null;
                        /** @description Was learnt by this agent. */
                        agent_id?: string | null;
                        /** @description Any of these headings. */
                        category?: string[] | string | null;
                        /** @description At most this important: 1 to 5. */
                        importance_max?: number | null;
                        /** @description At least this important: 1 to 5. */
                        importance_min?: number | null;
                        /** @description Only pinned ones, or only others. */
                        pinned?: boolean | null;
                        /** @description Was said in this role. */
                        role?: string | null;
                        /** @description Was learnt in this run. */
                        run_id?: string | null;
                        /** @description Has all of these tags. */
                        tags?: string[] | string | null;
                        /** @description Any of these. */
                        type?: ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other")[] | ("preference" | "fact" | "instruction" | "summary" | "insight" | "episode" | "procedure" | "other") | null;
                        /** @description Changed at or after this time. */
                        updated_after?: string | null;
                        /** @description Changed before this time. */
                        updated_before?: string | null;
                        /** @description No other than the user themselves. */
                        user_id?: string;
                    } | null;
                    /** @description How many memories at most. */
                    top_k?: number;
                    /**
                     * @description Lines for a prompt, or whole memories.
                     * @enum {string}
                     */
                    returns?: "bullets" | "full";
                    /** @description How long the answer may be. */
                    budget_tokens?: number;
                    /** @description Only what is at least this sure to be an answer, 0 to 1; 0 for all. */
                    threshold?: number | null;
                    /** @description How many bullets about the same to add. */
                    related?: number;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueryAnswer"];
                };
            };
        };
    };
    build_context: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description What the user says.
                     * @example What shall we drink?
                     */
                    message?: string;
                    /**
                     * @description The conversation.
                     * @example monday
                     */
                    thread?: string | null;
                    /** @description What of memory it has. */
                    modes?: ("tools" | "recall" | "summary")[] | ("tools" | "recall" | "summary");
                    /** @description How long the whole request may be. */
                    budget_tokens?: number | null;
                    /** @description How much of that is for the answer. */
                    reply_tokens?: number | null;
                    /** @description The schemas of tools that you send along; part of the budget. */
                    tools?: Record<string, unknown>[] | null;
                    /** @description Only what is at least this sure to be an answer, 0 to 1; 0 for all. */
                    threshold?: number | null;
                    /**
                     * @description Who asks; it gets what it may read. A key of an agent says so itself.
                     * @example planner
                     */
                    agent?: string | null;
                    /** @description False: you send the turns of the conversation yourself. */
                    history?: boolean;
                    /** @description False: without SOUL.md and RULES.md, you say who answers. */
                    persona?: boolean;
                    /** @description False: without the user's USER.md. */
                    user_file?: boolean;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Context"];
                };
            };
        };
    };
    give_feedback: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The memories that the prompt showed.
                     * @example [
                     *       7,
                     *       9
                     *     ]
                     */
                    recalled: number[];
                    /**
                     * @description Those of them that were of use.
                     * @example [
                     *       7,
                     *       9
                     *     ]
                     */
                    used?: number[] | null;
                    /** @description Instead of used: what the model answered. */
                    answer?: string | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Feedback"];
                };
            };
        };
    };
    list_my_groups: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Membership"][];
                };
            };
        };
    };
    list_group_members: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The group.
                 * @example payments
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupMember"][];
                };
            };
        };
    };
    set_group_member: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The group.
                 * @example payments
                 */
                group: string;
                /**
                 * @description The member.
                 * @example ben
                 */
                member: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description What they may do: read, write as well, or manage the members as well.
                     * @example write
                     * @enum {string}
                     */
                    role: "read" | "write" | "manage";
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupMember"];
                };
            };
        };
    };
    remove_group_member: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The group.
                 * @example payments
                 */
                group: string;
                /**
                 * @description The member.
                 * @example ben
                 */
                member: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"][];
                };
            };
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Where changes are sent: https://…
                     * @example https://example.org/ricordo
                     */
                    url: string;
                    /**
                     * @description Only these kinds of change; any for all of them.
                     * @example [
                     *       "ADD",
                     *       "UPDATE"
                     *     ]
                     */
                    events?: ("ADD" | "UPDATE" | "ARCHIVE" | "DELETE" | "RESTORE" | "SUPERSEDE" | "MERGE" | "LINK" | "UNLINK" | "TTL" | "PURGE" | "CONSENT" | "PIN" | "VERIFY" | "UNDO" | "RATE" | "any")[] | ("ADD" | "UPDATE" | "ARCHIVE" | "DELETE" | "RESTORE" | "SUPERSEDE" | "MERGE" | "LINK" | "UNLINK" | "TTL" | "PURGE" | "CONSENT" | "PIN" | "VERIFY" | "UNDO" | "RATE" | "any");
                };
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecret"];
                };
            };
        };
    };
    read_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example wh_4f1c
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example wh_4f1c
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    update_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example wh_4f1c
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Where changes are sent: https://…
                     * @example https://example.org/ricordo
                     */
                    url?: string | null;
                    /**
                     * @description Only these kinds of change; any for all of them.
                     * @example [
                     *       "ADD",
                     *       "UPDATE"
                     *     ]
                     */
                    events?: ("ADD" | "UPDATE" | "ARCHIVE" | "DELETE" | "RESTORE" | "SUPERSEDE" | "MERGE" | "LINK" | "UNLINK" | "TTL" | "PURGE" | "CONSENT" | "PIN" | "VERIFY" | "UNDO" | "RATE" | "any")[] | ("ADD" | "UPDATE" | "ARCHIVE" | "DELETE" | "RESTORE" | "SUPERSEDE" | "MERGE" | "LINK" | "UNLINK" | "TTL" | "PURGE" | "CONSENT" | "PIN" | "VERIFY" | "UNDO" | "RATE" | "any") | null;
                    /** @description Whether it delivers nothing for now; what happens meanwhile waits. */
                    paused?: boolean | null;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    rotate_webhook_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example wh_4f1c
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecret"];
                };
            };
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example wh_4f1c
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
        };
    };
    list_webhook_deliveries: {
        parameters: {
            query?: {
                /** @description How many entries at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example wh_4f1c
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"][];
                };
            };
        };
    };
    list_tools: {
        parameters: {
            query?: {
                /** @description The sets of tools, with commas: standard, single, query, profile. */
                sets?: string;
                /** @description For whose interface. */
                form?: components["schemas"]["SchemaForm"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OfferedTools"];
                };
            };
        };
    };
    call_tool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The tool. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CallRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolAnswer"];
                };
            };
        };
    };
    load_checkpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The conversation. */
                thread: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Checkpoint"];
                };
            };
        };
    };
    save_checkpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do it only while the thing still has this ETag; 412 otherwise. */
                "if-match"?: string | null;
                /** @description Save only while the state does not have this ETag; *: while there is none. */
                "If-None-Match"?: string | null;
            };
            path: {
                /** @description The conversation. */
                thread: string;
            };
            cookie?: never;
        };
        /** @description The state: any JSON value. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "step": 3
                 *     }
                 */
                "application/json": unknown;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Checkpoint"];
                };
            };
            /** @description The first state. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Checkpoint"];
                };
            };
        };
    };
    delete_checkpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do it only while the thing still has this ETag; 412 otherwise. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The conversation. */
                thread: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    export_user: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description JSON Lines, from one consistent state. The last line says how many came before it, so that a file that was cut off shows. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    import_user: {
        parameters: {
            query?: {
                /** @description One of: auto, ricordo, mem0, chatgpt, claude, openwebui, letta, zep, mcp-memory, jsonl, keyvalue, markdown, lines, folder. */
                format?: string;
                /** @description The users agree to every memory in it, sensitive ones included. */
                consented?: boolean;
                /** @description Only count what there is, and write nothing. */
                dry_run?: boolean;
                /** @description Whose memories to take, where a file of another system has several users'. */
                source_user?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The file as it is. */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReport"];
                };
            };
        };
    };
}
