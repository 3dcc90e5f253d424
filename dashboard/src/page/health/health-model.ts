// What is wrong, worst first, from the graph and from what the aggregator says of itself. Pure.
import type { Health, ReplicaHealth } from "@isochrone/topology";
import { PAIR, staleAfterSeconds, type ClusterView } from "../model/cluster-view.ts";
import { age, count, plural } from "../model/format.ts";

export interface Finding {
  readonly level: "bad" | "warn";
  readonly title: string;
  /** What to do, or to look at. */
  readonly remedy: string;
}

/** How the instruments on a node do. */
export interface Instrument {
  readonly node: string;
  /** Peers that it probes, and those that answered lately. */
  readonly peers: number;
  readonly answering: number;
  /** Age of its newest answer, and of the newest usage of the node; NaN: none. */
  readonly probeAgeSeconds: number;
  readonly usageAgeSeconds: number;
  readonly state: "good" | "warn" | "bad";
  readonly words: string;
}

const LAG = 10_000;
const SKEW_SECONDS = 5;

/** The sick first. */
export function instrumentsOf({ nodes, pairs, windowSeconds }: ClusterView): Instrument[] {
  const stale = staleAfterSeconds(windowSeconds);
  const instruments = nodes.map(({ name, usageAgeSeconds }, row): Instrument => {
    const [from, to] = [pairs.rowStart[row]!, pairs.rowStart[row + 1]!];
    let [peers, answering, newest] = [0, 0, Number.POSITIVE_INFINITY];
    for (let at = from; at < to; at++) {
      if ((pairs.flags[at]! & (PAIR.estimated | PAIR.declared)) !== 0) continue;
      peers++;
      const seconds = pairs.figures.ageSeconds[at]!;
      if ((pairs.flags[at]! & PAIR.dead) === 0 && seconds <= stale) answering++;
      if (seconds < newest) newest = seconds;
    }
    const probeAgeSeconds = newest === Number.POSITIVE_INFINITY ? Number.NaN : newest;
    const usage = usageAgeSeconds ?? Number.NaN;
    return {
      node: name,
      peers,
      answering,
      probeAgeSeconds,
      usageAgeSeconds: usage,
      ...verdict(peers, answering, probeAgeSeconds, usage, stale),
    };
  });
  const order = { bad: 0, warn: 1, good: 2 } as const;
  return instruments.sort((a, b) => order[a.state] - order[b.state]);
}

function verdict(
  peers: number,
  answering: number,
  probeAge: number,
  usageAge: number,
  stale: number,
): Pick<Instrument, "state" | "words"> {
  if (peers === 0) return { state: "bad", words: "no probe reports" };
  if (!(probeAge <= stale)) return { state: "bad", words: "the probe is silent" };
  if (answering === 0) return { state: "bad", words: "no peer answers" };
  if (Number.isNaN(usageAge)) return { state: "warn", words: "no usage is known" };
  if (usageAge > stale) return { state: "warn", words: "usage is old" };
  if (answering < peers)
    return { state: "warn", words: `${peers - answering} of ${peers} peers don't answer` };
  return { state: "good", words: "well" };
}

export const total = (reasons: Readonly<Record<string, number>>): number =>
  Object.values(reasons).reduce((sum, value) => sum + value, 0);

/** All that are known of; of an aggregator that knows no others, itself. */
export function replicasOf({ ready, version, graphAgeSeconds, replicas }: Health): readonly ReplicaHealth[] {
  const { replica, isLeader, ownedPartitions, lag, all } = replicas;
  const own = { replica: replica ?? "", problem: null, ready, isLeader, version, graphAgeSeconds };
  return all ?? [{ ...own, ownedPartitions, lag }];
}

/** Records that wait to be read, by all of them. */
export function waitingOf(replicas: readonly ReplicaHealth[]): number {
  return replicas.flatMap(({ lag }) => lag).reduce((sum, { records }) => sum + records, 0);
}

/** Title and remedy. */
function silenceOf(unreachable: readonly ReplicaHealth[]): [title: string, remedy: string] {
  const reasons = unreachable.map(({ replica, problem }) => `${replica}: ${problem}`).join("; ");
  return [
    `${plural(unreachable.length, "replica")} of the aggregator can't be asked`,
    `${reasons}. Its Lease holds: look at its log, and at what is between replicas.`,
  ];
}

/** `probe 0, 2; usage 1`: topics by the word that tells them apart. */
export function partitionsInWords(lag: ReplicaHealth["lag"]): string {
  const byTopic = new Map<string, number[]>();
  for (const { topic, partition } of lag)
    byTopic.set(topic, [...(byTopic.get(topic) ?? []), Number(partition)]);
  return [...byTopic]
    .map(([topic, partitions]) => {
      const name = /^isochrone\.(.+)\.v\d+$/.exec(topic)?.[1] ?? topic;
      return `${name} ${partitions.sort((a, b) => a - b).join(", ")}`;
    })
    .sort()
    .join("; ");
}

/** More cuts than these are counted. */
const NAMED_CUTS = 4;

function cutFindings(cuts: readonly string[]): Finding[] {
  if (cuts.length === 0) return [];
  const named = cuts.slice(0, NAMED_CUTS).join(", ");
  const title = `No answer: ${named}${cuts.length > NAMED_CUTS ? ` and ${cuts.length - NAMED_CUTS} more` : ""}`;
  const remedy =
    "All probes of the last panes were lost. Placement avoids them; see firewalls, routes and the nodes.";
  return [{ level: "bad", title, remedy }];
}

/**
 * What somebody should look at; nothing when all is well.
 * @param cuts nodes and pairs that nothing comes back from
 */
export function findingsOf(
  health: Health,
  instruments: readonly Instrument[],
  windowSeconds: number,
  cuts: readonly string[] = [],
): Finding[] {
  const findings = cutFindings(cuts);
  const add = (isSo: boolean, level: Finding["level"], title: string, remedy: string): void => {
    if (isSo) findings.push({ level, title, remedy });
  };
  const { intake } = health;
  const [sick, unwell] = (["bad", "warn"] as const).map(
    (wanted) => instruments.filter(({ state }) => state === wanted).length,
  ) as [number, number];
  const all = replicasOf(health);
  const lag = waitingOf(all);
  const unreachable = all.filter(({ problem }) => problem !== null);
  const skew = Math.max(0, ...health.clocks.map(({ skewSeconds }) => Math.abs(skewSeconds)));
  const refused = total(intake.refused);
  add(!health.ready, "bad", "The aggregator isn't ready", health.reasons.join("; ") || "It doesn't say why.");
  add(
    (health.graphAgeSeconds ?? 0) > 2 * windowSeconds,
    "bad",
    `The newest graph is ${age(health.graphAgeSeconds)} old`,
    "Building fails or is too slow: see the aggregator's log.",
  );
  add(
    sick > 0,
    "bad",
    `${plural(sick, "node")} without a working probe`,
    "See the list below, then the probe's pod on that node.",
  );
  add(
    health.buildFailures > 0,
    "bad",
    `${plural(health.buildFailures, "build")} of graphs failed`,
    "The graph before stays; the log names the error.",
  );
  add(unreachable.length > 0, "warn", ...silenceOf(unreachable));
  add(
    lag > LAG,
    "warn",
    `${count(lag)} records wait to be read`,
    "The aggregator falls behind: add replicas, or look at its CPU.",
  );
  add(
    intake.missing > 0,
    "warn",
    `${plural(intake.missing, "record")} never came`,
    "Publishers numbered them: the bus lost them, or a publisher was killed.",
  );
  add(
    intake.publisherDropped > 0,
    "warn",
    `Publishers dropped ${plural(intake.publisherDropped, "record")}`,
    "The bus was away or slow for longer than their buffers hold.",
  );
  add(
    refused > 0,
    "warn",
    `${plural(refused, "point")} or records were refused`,
    "The reasons are below; somebody sends what isn't right.",
  );
  add(
    intake.deadLetters > 0,
    "warn",
    `${plural(intake.deadLetters, "record")} could not be used`,
    "They are kept on the dead-letter topic.",
  );
  add(
    skew > SKEW_SECONDS,
    "warn",
    `A source's clock is off by ${age(skew)}`,
    "Its figures are shifted; set the clocks of that node.",
  );
  add(unwell > 0, "warn", `${plural(unwell, "node")} with incomplete figures`, "See the list below.");
  return findings;
}
