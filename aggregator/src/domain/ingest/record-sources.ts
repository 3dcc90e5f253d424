import { decodeHeaders, OtlpError, SequenceTracker, type RecordIdentity } from "@isochrone/telemetry";
import { DroppedReports } from "./dropped-reports.ts";
import type { IncomingRecord } from "./incoming-record.ts";
import type { Refused } from "./ingest-counts.ts";
import { SourceClocks, type SourceClock } from "./source-clocks.ts";
import type { Account, Accounts } from "../speakers/accounts.ts";
import { maySendAs, scopedSource, speakerText, type Speaker, type Speakers } from "../speakers/speaker.ts";

/** Source and clock of a record. One object is reused. */
interface OpenedRecord {
  readonly verdict: "opened";
  /** Unique over all senders. */
  readonly source: string;
  readonly account: Account;
  /** The record carries no identity of its own. */
  readonly isForeign: boolean;
  readonly offsetMs: number;
  readonly clockGeneration: number;
  readonly life: number;
}

export type OpenVerdict =
  | OpenedRecord
  | { readonly verdict: "duplicate" }
  | {
      readonly verdict: "refused";
      readonly source: string;
      readonly reason: Refused;
      readonly detail: string;
    };

const DUPLICATE: OpenVerdict = { verdict: "duplicate" };

/** Sources by sender. Each sender has its own namespace of sources, so none can impersonate another's. */
export class RecordSources {
  readonly clocks: SourceClocks;
  readonly #speakers: Speakers;
  readonly #accounts: Accounts;
  readonly #sequences: SequenceTracker;
  readonly #dropped: DroppedReports;
  readonly #opened: { -readonly [K in keyof OpenedRecord]: OpenedRecord[K] };
  #missingRecords = 0;

  constructor(speakers: Speakers, accounts: Accounts, maxSources: number) {
    this.#speakers = speakers;
    this.#accounts = accounts;
    this.#sequences = new SequenceTracker({ maxSources });
    this.#dropped = new DroppedReports(maxSources);
    this.clocks = new SourceClocks(maxSources);
    this.#opened = {
      verdict: "opened",
      source: "",
      account: accounts.of({ kind: "open" }, "", Number.NEGATIVE_INFINITY),
      isForeign: false,
      offsetMs: 0,
      clockGeneration: 0,
      life: 0,
    };
  }

  /** Records lost for good: skipped sequences that no publisher reported as dropped. Only grows. */
  get missingRecords(): number {
    const { missing, outstanding } = this.#sequences;
    const unexplained = missing + outstanding - this.#dropped.total;
    this.#missingRecords = Math.max(this.#missingRecords, Math.min(missing, unexplained));
    return this.#missingRecords;
  }

  get droppedRecords(): number {
    return this.#dropped.total;
  }

  open(record: IncomingRecord, nowMs: number): OpenVerdict {
    const speaker = this.#speakers.speakerOf(record);
    // Log it without the claimed name, which may be forged.
    if (speaker === "refused") return refused("nobody", "unproven", "nothing proves who sent the record");
    let identity: RecordIdentity | null;
    try {
      identity = decodeHeaders(record.headers);
    } catch (error) {
      if (!(error instanceof OtlpError)) throw error;
      return refused(nameOf(speaker, record.key), "bad_headers", error.message);
    }
    return identity === null
      ? this.#openForeign(speaker, record.key, nowMs)
      : this.#openOwn(speaker, identity, record, nowMs);
  }

  #openOwn(
    speaker: Speaker,
    identity: RecordIdentity,
    { headers, appendedAtMs }: IncomingRecord,
    nowMs: number,
  ): OpenVerdict {
    const { epoch, sequence } = identity;
    if (!maySendAs(speaker, identity.source))
      return refused(nameOf(speaker, identity.source), "not_yours", `source ${identity.source}`);
    const source = scopedSource(speaker, identity.source);
    const account = this.#accounts.of(speaker, source, nowMs);
    if (!account.hears(source, nowMs))
      return refused(nameOf(speaker, source), "too_many_sources", `source ${identity.source}`);
    if (this.#sequences.observe(source, epoch, sequence) === "duplicate") return DUPLICATE;
    const clock = this.clocks.observe(source, identity.sentAtMs, appendedAtMs, epoch);
    this.#dropped.observe({ ...identity, source }, headers);
    return this.#give(source, account, clock);
  }

  /** Separates the nodes behind a service into sources, up to its limit. */
  #openForeign(speaker: Speaker, key: string, nowMs: number): OpenVerdict {
    if (speaker.kind === "open") return this.#give(key, this.#accounts.of(speaker, key, nowMs), null);
    const name = speakerText(speaker);
    const account = this.#accounts.of(speaker, name, nowMs);
    const scoped = `${name}|${key}`;
    const isApart = speaker.kind === "service" && account.hears(scoped, nowMs);
    return this.#give(isApart ? scoped : name, account, null);
  }

  #give(source: string, account: Account, clock: SourceClock | null): OpenedRecord {
    const opened = this.#opened;
    opened.source = source;
    opened.account = account;
    opened.isForeign = clock === null;
    opened.offsetMs = clock?.offsetMs ?? 0;
    opened.clockGeneration = clock?.generation ?? 0;
    opened.life = clock?.life ?? 0;
    return opened;
  }
}

function refused(source: string, reason: Refused, detail: string): OpenVerdict {
  return { verdict: "refused", source, reason, detail };
}

/** Name for the log: the sender if known, because senders are few. */
function nameOf(speaker: Speaker, source: string): string {
  return speaker.kind === "open" ? source : speakerText(speaker);
}
