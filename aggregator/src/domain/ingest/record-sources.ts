import { decodeHeaders, OtlpError, SequenceTracker, type RecordIdentity } from "@isochrone/telemetry";
import { DroppedReports } from "./dropped-reports.ts";
import type { IncomingRecord } from "./incoming-record.ts";
import type { Refused } from "./ingest-counts.ts";
import { SourceClocks, type SourceClock } from "./source-clocks.ts";
import type { Account, Accounts } from "../speakers/accounts.ts";
import { maySendAs, scopedSource, speakerText, type Speaker, type Speakers } from "../speakers/speaker.ts";

/** Whose record it is, and how its times are read. One object is reused. */
interface OpenedRecord {
  readonly verdict: "opened";
  /** Unique among the sources of all speakers. */
  readonly source: string;
  readonly account: Account;
  /** It carries no identity of its own. */
  readonly isForeign: boolean;
  readonly offsetMs: number;
  readonly clockGeneration: number;
  readonly life: number;
}

/** What became of a record's headers. */
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

/**
 * Who sends records: each speaker has sources of its own, whatever it calls them, and none can take the place
 * of another's.
 */
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

  /**
   * Records that are missing for good: their sequences were skipped, and no publisher says that it dropped
   * them. Only grows.
   */
  get missingRecords(): number {
    const { missing, outstanding } = this.#sequences;
    const unexplained = missing + outstanding - this.#dropped.total;
    this.#missingRecords = Math.max(this.#missingRecords, Math.min(missing, unexplained));
    return this.#missingRecords;
  }

  /** Records that publishers say they dropped while the bus was away. */
  get droppedRecords(): number {
    return this.#dropped.total;
  }

  open(record: IncomingRecord, nowMs: number): OpenVerdict {
    const speaker = this.#speakers.speakerOf(record);
    // In nobody's name: who wrote it may have invented the name that it bears.
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

  /** What a service passes on of many nodes is kept apart by them, as far as it may have so many sources. */
  #openForeign(speaker: Speaker, key: string, nowMs: number): OpenVerdict {
    if (speaker.kind === "open") return this.#give(key, this.#accounts.of(speaker, key, nowMs), null);
    const name = speakerText(speaker);
    const account = this.#accounts.of(speaker, name, nowMs);
    const scoped = `${name}|${key}`;
    const isApart = speaker.kind === "service" && account.hears(scoped, nowMs);
    return this.#give(isApart ? scoped : name, account, null);
  }

  /** @param clock null: the record carries no identity of its own */
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

/** Whom a refusal is logged under: the speaker, where there is one, because there are not many of these. */
function nameOf(speaker: Speaker, source: string): string {
  return speaker.kind === "open" ? source : speakerText(speaker);
}
