import type { ReadFrom, SubscribeOptions } from "../../ports/port.ts";
import { Member } from "./member.ts";
import type { GroupPosition, MemberDeps } from "./partition-reader.ts";
import type { PartitionLog } from "./partition-log.ts";

/**
 * A consumer group: its committed offsets, its members, and who reads what. Every partition of a subscribed
 * topic has exactly one reader; one that changes hands is first given up by the old one.
 */
export class Group {
  readonly name: string;
  readonly #deps: MemberDeps;
  readonly #logsOf: (topic: string) => readonly PartitionLog[];
  readonly #onProgress: (log: PartitionLog) => void;
  readonly #positions = new Map<PartitionLog, GroupPosition>();
  #members: readonly Member[] = [];
  /** Rebalances run one after the other. */
  #rebalancing: Promise<void> = Promise.resolve();

  constructor(
    name: string,
    deps: MemberDeps,
    logsOf: (topic: string) => readonly PartitionLog[],
    onProgress: (log: PartitionLog) => void,
  ) {
    this.name = name;
    this.#deps = deps;
    this.#logsOf = logsOf;
    this.#onProgress = onProgress;
  }

  /**
   * The committed offset, as far as somebody of the group is there to move it on; null where nobody reads the
   * topic.
   */
  floor(log: PartitionLog): number | null {
    if (!this.#members.some((member) => member.options.topics.includes(log.topic))) return null;
    return this.#positions.get(log)?.committed ?? null;
  }

  /** True when nothing is left to read. */
  get isCaughtUp(): boolean {
    return [...this.#positions.values()].every(({ log, committed }) => committed >= log.end);
  }

  /** Positions are fixed at once, so that a member from "latest" gets what is published after this call. */
  join(options: SubscribeOptions): Member {
    const member = new Member(options, this.#deps, ({ log }) => this.#onProgress(log));
    for (const topic of options.topics) {
      for (const log of this.#logsOf(topic)) {
        if (this.#positions.has(log)) continue;
        this.#positions.set(log, { log, committed: firstOffset(log, options.from) });
      }
    }
    this.#members = [...this.#members, member];
    void this.#rebalance();
    return member;
  }

  /** Resolves when the member has settled and the others have its partitions. */
  async leave(member: Member): Promise<void> {
    this.#members = this.#members.filter((other) => other !== member);
    await this.#rebalance(member);
    // Without members the group no longer holds publishers back.
    for (const log of this.#positions.keys()) this.#onProgress(log);
  }

  /** Never rejects: handlers' faults are logged where they are called. */
  #rebalance(leaver?: Member): Promise<void> {
    this.#rebalancing = this.#rebalanceAfter(this.#rebalancing, leaver);
    return this.#rebalancing;
  }

  async #rebalanceAfter(previous: Promise<void>, leaver: Member | undefined): Promise<void> {
    await previous;
    await leaver?.revokeAll();
    const target = balance(this.#members, [...this.#positions.values()]);
    const revocations = this.#members.map((member) => {
      const lost = [...this.#positions.keys()].filter(
        (log) => member.owns(log) && target.get(log) !== member,
      );
      return member.revoke(lost);
    });
    await Promise.all(revocations);
    for (const member of this.#members) {
      const mine = [...this.#positions.values()].filter(({ log }) => target.get(log) === member);
      member.assign(mine.filter(({ log }) => !member.owns(log)));
    }
  }
}

function firstOffset(log: PartitionLog, from: ReadFrom): number {
  if (from === "earliest") return log.start;
  return from === "latest" ? log.end : log.offsetSince(from.sinceMs);
}

/**
 * Sticky: everyone keeps what they have, up to the point where nobody has two partitions more than another
 * who could take one.
 */
function balance(members: readonly Member[], positions: readonly GroupPosition[]): Map<PartitionLog, Member> {
  const target = new Map<PartitionLog, Member>();
  const load = new Map<Member, number>(members.map((member) => [member, 0]));
  const loadOf = (member: Member): number => load.get(member) ?? 0;
  const give = (log: PartitionLog, to: Member): void => {
    const from = target.get(log);
    if (from) load.set(from, loadOf(from) - 1);
    target.set(log, to);
    load.set(to, loadOf(to) + 1);
  };
  const leastLoaded = (log: PartitionLog): Member | undefined =>
    members
      .filter((member) => member.options.topics.includes(log.topic))
      .reduce<Member | undefined>(
        (best, member) => (best && loadOf(best) <= loadOf(member) ? best : member),
        undefined,
      );

  const logs = positions.map(({ log }) => log);
  for (const log of logs) {
    const owner = members.find((member) => member.owns(log));
    if (owner) give(log, owner);
  }
  for (const log of logs) {
    const taker = target.has(log) ? undefined : leastLoaded(log);
    if (taker) give(log, taker);
  }
  let moved = true;
  while (moved) {
    moved = false;
    for (const log of logs) {
      const owner = target.get(log);
      const taker = leastLoaded(log);
      if (!owner || !taker || loadOf(owner) - loadOf(taker) < 2) continue;
      give(log, taker);
      moved = true;
    }
  }
  return target;
}
