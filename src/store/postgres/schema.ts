import { lockKey } from './settings.ts'

/** Version of the newest tables and functions. */
export const currentVersion = 1

/** Name of the channel on which a store's writers notify its followers. */
export const channelOf = (schema: string): string => `palimpsest_${schema}`

/** SQLSTATE that the functions raise in a transaction whose snapshot is older than the lock. */
export const wrongIsolation = 'PA001'

/**
 * Takes the lock that orders all appends of the store. The lock is taken in a statement of its own, because a statement does not see
 * what was committed while it waited. PostgreSQL checks `lock_timeout` when a wait begins, so setting it here works through a pooler,
 * where the session has none (`wait` is null otherwise). An assignment to `done` takes half the time of PERFORM.
 */
const lock = (schema: string): string => `
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'palimpsest appends need the isolation level read committed' USING ERRCODE = '${wrongIsolation}';
  END IF;
  IF current_setting('synchronous_commit') = 'off' THEN
    done := set_config('synchronous_commit', 'on', true);
  END IF;
  IF wait IS NOT NULL THEN
    done := set_config('lock_timeout', wait::text, true);
  END IF;
  done := pg_advisory_xact_lock(${lockKey(schema, 'append')})::text;`

/**
 * Migrations from an empty schema to the newest tables, one per version; a released migration is never changed. Every name is qualified,
 * because the `search_path` of a session may name other schemas first.
 *
 * `events.position` is the global order: it begins with 1 and has no gaps, because each append takes the highest position under the lock.
 * A sequence would not be the order of commits. `findable` marks the events that `find` can look for; only these events are in the index
 * by id. Texts are compared as UTF-8 bytes (`COLLATE "C"`), and kept as `text`, because `json` and `jsonb` do not return what was stored.
 * `holders` has the names of running processes (liveness.ts). `blob_chunks.n` counts from 0.
 */
export const migrations = (schema: string): readonly string[] => [
  `CREATE TABLE ${schema}.meta (version integer NOT NULL);
   CREATE TABLE ${schema}.streams (
     id bigint PRIMARY KEY,
     name text COLLATE "C" NOT NULL UNIQUE
   );
   CREATE TABLE ${schema}.events (
     position bigint PRIMARY KEY,
     stream bigint NOT NULL,
     revision bigint NOT NULL,
     id text COLLATE "C" NOT NULL,
     type text COLLATE "C" NOT NULL,
     data text NOT NULL,
     metadata text NOT NULL,
     findable boolean,
     UNIQUE (stream, revision)
   );
   CREATE INDEX events_by_id ON ${schema}.events (stream, id) WHERE findable;
   -- Nearly all events are messages: counting the others counts the messages.
   CREATE INDEX events_besides_messages ON ${schema}.events (stream, type, revision) WHERE type <> 'MessageAppended';
   CREATE TABLE ${schema}.blobs (
     sha256 text COLLATE "C" PRIMARY KEY,
     bytes bigint NOT NULL,
     time timestamptz(3) NOT NULL
   );
   CREATE TABLE ${schema}.blob_chunks (
     sha256 text COLLATE "C" NOT NULL,
     n integer NOT NULL,
     chunk bytea NOT NULL,
     PRIMARY KEY (sha256, n)
   );
   ALTER TABLE ${schema}.blob_chunks ALTER chunk SET STORAGE EXTERNAL;
   CREATE TABLE ${schema}.holders (name text COLLATE "C" PRIMARY KEY);
   CREATE VIEW ${schema}.history AS
     SELECT s.name AS stream, e.revision, e.type, e.data, e.metadata, e.id, e.position
     FROM ${schema}.events e JOIN ${schema}.streams s ON s.id = e.stream ORDER BY e.position;

   -- One append of one event. Returns its position; 0 if it was written before; on a conflict, -2 minus the last revision.
   CREATE FUNCTION ${schema}.append_event(
     wait integer, name_ text, expected bigint, id_ text, type_ text, data_ text, metadata_ text, findable_ boolean
   ) RETURNS bigint LANGUAGE plpgsql AS $$
   DECLARE
     done text;
     stream_ bigint;
     actual bigint;
     place bigint;
   BEGIN${lock(schema)}
     -- One statement, whose plan the session keeps. Without a row of the stream, all three are null.
     SELECT s.id, (SELECT e.revision FROM ${schema}.events e WHERE e.stream = s.id ORDER BY e.revision DESC LIMIT 1),
       (SELECT e.position FROM ${schema}.events e ORDER BY e.position DESC LIMIT 1)
     INTO stream_, actual, place FROM ${schema}.streams s WHERE s.name = name_;
     IF coalesce(actual, -1) <> expected THEN
       RETURN CASE WHEN EXISTS (
         SELECT FROM ${schema}.events e WHERE e.stream = stream_ AND e.revision = expected + 1 AND e.id = id_
       ) THEN 0 ELSE -2 - coalesce(actual, -1) END;
     END IF;
     IF stream_ IS NULL THEN
       stream_ := coalesce((SELECT s.id FROM ${schema}.streams s ORDER BY s.id DESC LIMIT 1), 0) + 1;
       INSERT INTO ${schema}.streams VALUES (stream_, name_);
       place := (SELECT e.position FROM ${schema}.events e ORDER BY e.position DESC LIMIT 1);
     END IF;
     place := coalesce(place, 0) + 1;
     INSERT INTO ${schema}.events VALUES (place, stream_, expected + 1, id_, type_, data_, metadata_, findable_);
     done := pg_notify('${channelOf(schema)}', '')::text;
     RETURN place;
   END $$;

   -- Several appends: the events of all are in one list, of which each append has the next counts[k].
   CREATE FUNCTION ${schema}.append_batch(
     wait integer, names text[], expecteds bigint[], counts integer[],
     ids text[], types text[], datas text[], metadatas text[], findables boolean[]
   ) RETURNS TABLE (outcome text, actual bigint, place bigint) LANGUAGE plpgsql AS $$
   DECLARE
     done text;
     stream_ bigint;
     low integer := 1;
     high integer;
     top bigint;
     wrote boolean := false;
   BEGIN${lock(schema)}
     top := coalesce((SELECT e.position FROM ${schema}.events e ORDER BY e.position DESC LIMIT 1), 0);
     FOR k IN 1..cardinality(names) LOOP
       high := low + counts[k] - 1;
       stream_ := (SELECT s.id FROM ${schema}.streams s WHERE s.name = names[k]);
       actual := coalesce(
         (SELECT e.revision FROM ${schema}.events e WHERE e.stream = stream_ ORDER BY e.revision DESC LIMIT 1), -1);
       place := NULL;
       IF actual <> expecteds[k] THEN
         outcome := CASE WHEN (
           SELECT count(*) FROM unnest(ids[low:high]) WITH ORDINALITY u (id, n)
           JOIN ${schema}.events e ON e.stream = stream_ AND e.revision = expecteds[k] + u.n AND e.id = u.id
         ) = counts[k] THEN 'repeated' ELSE 'conflict' END;
       ELSE
         IF stream_ IS NULL THEN
           stream_ := coalesce((SELECT s.id FROM ${schema}.streams s ORDER BY s.id DESC LIMIT 1), 0) + 1;
           INSERT INTO ${schema}.streams VALUES (stream_, names[k]);
         END IF;
         -- One row each: a query over the lists takes longer to begin than to write a few rows.
         FOR n IN low..high LOOP
           INSERT INTO ${schema}.events VALUES (
             top + n - low + 1, stream_, expecteds[k] + n - low + 1, ids[n], types[n], datas[n], metadatas[n], findables[n]);
         END LOOP;
         top := top + counts[k];
         place := top;
         outcome := 'written';
         wrote := true;
       END IF;
       low := high + 1;
       RETURN NEXT;
     END LOOP;
     IF wrote THEN done := pg_notify('${channelOf(schema)}', '')::text; END IF;
   END $$;

   -- One append that depends on other streams or replaces events. Its outcome may name the stream in the way.
   CREATE FUNCTION ${schema}.append_if(
     wait integer, name_ text, expected bigint, ids text[], types text[], datas text[], metadatas text[], findables boolean[],
     others text[], ends bigint[], prefix text, since bigint,
     replaced text[], revisions bigint[], new_datas text[], new_metadatas text[],
     OUT outcome text, OUT actual bigint, OUT place bigint, OUT other text
   ) LANGUAGE plpgsql AS $$
   DECLARE done text;
   BEGIN${lock(schema)}
     outcome := 'conflict';
     FOR k IN 1..cardinality(others) LOOP
       actual := coalesce((
         SELECT e.revision FROM ${schema}.events e WHERE e.stream = (SELECT s.id FROM ${schema}.streams s WHERE s.name = others[k])
         ORDER BY e.revision DESC LIMIT 1), -1);
       IF actual <> ends[k] THEN
         other := others[k];
         RETURN;
       END IF;
     END LOOP;
     -- The order and OFFSET 0 keep the planner from reading all events or all streams for a few new events.
     IF prefix IS NOT NULL AND (
       SELECT true FROM ${schema}.events e
       CROSS JOIN LATERAL (SELECT s.name FROM ${schema}.streams s WHERE s.id = e.stream OFFSET 0) s
       WHERE e.position > since AND starts_with(s.name, prefix) ORDER BY e.position DESC LIMIT 1
     ) THEN
       actual := expected;
       RETURN;
     END IF;
     SELECT b.outcome, b.actual, b.place INTO outcome, actual, place FROM ${schema}.append_batch(
       wait, ARRAY[name_], ARRAY[expected], ARRAY[cardinality(ids)], ids, types, datas, metadatas, findables) b;
     IF outcome = 'conflict' THEN RETURN; END IF;
     FOR k IN 1..cardinality(replaced) LOOP
       UPDATE ${schema}.events e SET data = new_datas[k], metadata = new_metadatas[k]
       WHERE e.stream = (SELECT s.id FROM ${schema}.streams s WHERE s.name = replaced[k]) AND e.revision = revisions[k];
     END LOOP;
   END $$;`,
]
