import type { TopicPartition } from "../../../ports/port.ts";

export interface AssignMember {
  readonly memberId: string;
  readonly topics: readonly string[];
  /** What it had before. */
  readonly previous: readonly TopicPartition[];
}

/**
 * Shares each topic's partitions evenly among the members that want it, and leaves with a member what it had,
 * as far as that is even: handing a partition over costs its owners work. The same for all members, whatever
 * their order.
 */
export function assignPartitions(
  members: readonly AssignMember[],
  partitionCounts: ReadonlyMap<string, number>,
): Map<string, TopicPartition[]> {
  const shares = new Map<string, TopicPartition[]>(members.map(({ memberId }) => [memberId, []]));
  for (const topic of [...partitionCounts.keys()].toSorted()) {
    const wanting = members.filter(({ topics }) => topics.includes(topic));
    if (wanting.length === 0) continue;
    for (const [memberId, partitions] of shareOf(topic, partitionCounts.get(topic) ?? 0, wanting, shares)) {
      shares.get(memberId)?.push(...partitions.map((partition) => ({ topic, partition })));
    }
  }
  return shares;
}

function shareOf(
  topic: string,
  count: number,
  members: readonly AssignMember[],
  others: ReadonlyMap<string, readonly TopicPartition[]>,
): Map<string, number[]> {
  const total = ({ memberId }: AssignMember): number => others.get(memberId)?.length ?? 0;
  const previous = new Map(members.map((member) => [member, previousOf(member, topic, count)]));
  const had = (member: AssignMember): number => previous.get(member)?.length ?? 0;
  // Who had most may keep one more, where the number does not divide; then who has least of other topics.
  const order = members.toSorted(
    (a, b) => had(b) - had(a) || total(a) - total(b) || (a.memberId < b.memberId ? -1 : 1),
  );
  const quota = (index: number): number =>
    Math.floor(count / order.length) + (index < count % order.length ? 1 : 0);
  const free = new Set(Array.from({ length: count }, (_, partition) => partition));
  const kept = order.map((member, index) =>
    (previous.get(member) ?? []).slice(0, quota(index)).filter((partition) => free.delete(partition)),
  );
  const rest = [...free];
  return new Map(
    order.map(({ memberId }, index) => {
      const keeps = kept[index] ?? [];
      return [memberId, [...keeps, ...rest.splice(0, quota(index) - keeps.length)].toSorted((a, b) => a - b)];
    }),
  );
}

function previousOf(member: AssignMember, topic: string, count: number): number[] {
  return member.previous
    .filter((each) => each.topic === topic && each.partition < count)
    .map(({ partition }) => partition)
    .toSorted((a, b) => a - b);
}
