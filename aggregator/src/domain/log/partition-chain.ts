/** Somebody means to own an input partition from here on. */
interface ClaimEntry {
  readonly kind: "claim";
  /** Unique among all claims. */
  readonly claim: string;
  /** Where in the log it stands. */
  readonly position: number;
}

/** A part of what an owner drew from the records [from, to) of an input partition. */
export interface DeltaEntry<B> {
  readonly kind: "delta";
  readonly claim: string;
  /** Where in the log the claim stands. */
  readonly claimPosition: number;
  readonly from: number;
  readonly to: number;
  /** 0 .. parts - 1. */
  readonly part: number;
  readonly parts: number;
  readonly body: B;
}

export type LogEntry<B> = ClaimEntry | DeltaEntry<B>;

/** Why a delta is not applied. */
const DELTA_REFUSALS = ["superseded", "gap", "parts"] as const;
type DeltaRefusal = (typeof DELTA_REFUSALS)[number];

/** What becomes of an entry. */
type Verdict<B> =
  | { readonly kind: "claimed" }
  /** A claim that was heard before. */
  | { readonly kind: "stale_claim" }
  /** Other parts must come first. */
  | { readonly kind: "waiting" }
  | { readonly kind: "accepted"; readonly from: number; readonly to: number; readonly bodies: readonly B[] }
  | { readonly kind: "repeat" }
  | { readonly kind: "refused"; readonly reason: DeltaRefusal };

interface Assembly<B> {
  readonly from: number;
  readonly to: number;
  readonly bodies: (B | undefined)[];
  missing: number;
}

/** Claims that are remembered as superseded: a repeated one must not come into force again. */
const REMEMBERED_CLAIMS = 64;
const REPEAT = { kind: "repeat" } as const;
const WAITING = { kind: "waiting" } as const;

/**
 * What all replicas agree on about one input partition, because all read the same log in the same order: who
 * owns it, and up to which offset its records are contained in accepted deltas.
 *
 *     claim a | delta a [0,5) | claim b | delta a [5,9): refused
 *             | delta b [5,8) | delta b [5,8): a repeat | delta b [8,9)
 *
 * A log that begins in the middle has lost claims: a delta whose claim stands behind the last one that was
 * seen proves it, and says where the chain goes on. The first claim that is seen settles it: its owner has
 * read what is missing here.
 */
export class PartitionChain<B> {
  #claim: string | null = null;
  #claimPosition = -1;
  #next: number | null = null;
  /**
   * False while #next only comes from owners whose claim was not seen: they may have been superseded by
   * another one that was not.
   */
  #isCertain = false;
  #isClaimSeen = false;
  /** The claimant knows better where the chain goes on: it will say so with its first delta. */
  #awaitsStart = true;
  #assembly: Assembly<B> | null = null;
  readonly #superseded = new Set<string>();
  readonly #isChecking: boolean;

  /** @param isChecking false only to show that tests notice */
  constructor(isChecking = true) {
    this.#isChecking = isChecking;
  }

  /** Who owns the partition; null: nobody ever claimed it. */
  get claim(): string | null {
    return this.#claim;
  }

  /** The first offset that no accepted delta contains; null: there was none. */
  get next(): number | null {
    return this.#next;
  }

  take(entry: LogEntry<B>): Verdict<B> {
    return entry.kind === "claim" ? this.#takeClaim(entry) : this.#takeDelta(entry);
  }

  #takeClaim({ claim, position }: ClaimEntry): Verdict<B> {
    if (claim === this.#claim || this.#superseded.has(claim)) return { kind: "stale_claim" };
    this.#install(claim, position);
    this.#awaitsStart = !this.#isCertain;
    this.#isClaimSeen = true;
    return { kind: "claimed" };
  }

  #takeDelta(entry: DeltaEntry<B>): Verdict<B> {
    const { claim, claimPosition, from, to } = entry;
    if (!isSound(entry)) return refused("parts");
    if (!this.#isChecking) return this.#assemble(entry);
    if (claim !== this.#claim) {
      if (claimPosition <= this.#claimPosition || this.#superseded.has(claim)) return refused("superseded");
      this.#install(claim, claimPosition);
      this.#awaitsStart = true;
      this.#isCertain = false;
      this.#isClaimSeen = false;
    }
    if (this.#awaitsStart || this.#next === null) return this.#assemble(entry);
    if (to <= this.#next) return REPEAT;
    return from === this.#next ? this.#assemble(entry) : refused("gap");
  }

  #assemble({ from, to, part, parts, body }: DeltaEntry<B>): Verdict<B> {
    let assembly = this.#assembly;
    if (
      assembly === null ||
      assembly.from !== from ||
      assembly.to !== to ||
      assembly.bodies.length !== parts
    ) {
      assembly = { from, to, bodies: Array.from({ length: parts }, () => undefined), missing: parts };
      this.#assembly = assembly;
    }
    if (assembly.bodies[part] === undefined) {
      assembly.bodies[part] = body;
      assembly.missing--;
    }
    if (assembly.missing > 0) return WAITING;
    this.#assembly = null;
    this.#awaitsStart = false;
    this.#isCertain ||= this.#isClaimSeen;
    this.#next = to;
    return { kind: "accepted", from, to, bodies: assembly.bodies as B[] };
  }

  #install(claim: string, position: number): void {
    if (this.#claim !== null) this.#superseded.add(this.#claim);
    if (this.#superseded.size > REMEMBERED_CLAIMS)
      this.#superseded.delete(this.#superseded.values().next().value!);
    this.#claim = claim;
    this.#claimPosition = position;
    // What the last owner left incomplete stays so.
    this.#assembly = null;
  }
}

/** Parts of one delta at most; at 900 kB each more than any owner collects. */
export const MAX_PARTS = 1024;

function isSound({ from, to, part, parts }: DeltaEntry<unknown>): boolean {
  return from >= 0 && to > from && parts >= 1 && parts <= MAX_PARTS && part >= 0 && part < parts;
}

function refused(reason: DeltaRefusal): { readonly kind: "refused"; readonly reason: DeltaRefusal } {
  return { kind: "refused", reason };
}
