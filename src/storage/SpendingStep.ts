/**
 * The table of what requests to models used and cost, as a step of the database's schema.
 *
 * @since 0.1.0
 */

/**
 * `spending`: what each request to a model used and cost, of runs and beside them. It outlives its session (then without
 * `session_id`, `run_id` and `workspace`), since what was spent stays spent. `at` is when the answer had ended. Tokens are
 * NULL when the provider told none, `cost_usd` when the model had no price.
 */
const spending = `CREATE TABLE spending (
  id TEXT PRIMARY KEY,
  at REAL NOT NULL,
  session_id TEXT,
  run_id TEXT,
  turn INTEGER NOT NULL DEFAULT 0,
  workspace TEXT,
  purpose TEXT NOT NULL,
  model TEXT NOT NULL,
  input_tokens INTEGER,
  output_tokens INTEGER,
  cache_read_tokens INTEGER,
  cache_write_tokens INTEGER,
  reasoning_tokens INTEGER,
  cost_usd REAL
)`

/** What was spent before is taken over from the attempts. @since 0.1.0 @category constants */
export const spendingStep: ReadonlyArray<string> = [
  spending,
  `INSERT INTO spending (id, at, session_id, run_id, turn, workspace, purpose, model, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd)
    SELECT a.id, COALESCE(a.ended_at, a.started_at), r.session_id, a.run_id, a.turn, s.workspace,
      CASE a.number WHEN 0 THEN 'compaction' ELSE 'turn' END, r.model, a.input_tokens, a.output_tokens,
      a.cache_read_tokens, a.cache_write_tokens, a.reasoning_tokens, a.cost_usd
    FROM attempts a JOIN runs r ON r.id = a.run_id JOIN sessions s ON s.id = r.session_id
    WHERE a.input_tokens IS NOT NULL OR a.status IN ('completed', 'cancelled')`,
  "CREATE INDEX spending_by_time ON spending(at)",
  "CREATE INDEX spending_by_session ON spending(session_id) WHERE session_id IS NOT NULL",
  "CREATE INDEX sessions_by_parent ON sessions(parent_session_id) WHERE parent_session_id IS NOT NULL",
  `CREATE TRIGGER spending_stays AFTER DELETE ON sessions BEGIN
    UPDATE spending SET session_id = NULL, run_id = NULL, workspace = NULL WHERE session_id = OLD.id;
  END`
]
