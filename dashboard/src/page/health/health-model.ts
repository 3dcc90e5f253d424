// Findings, worst first, from the graph and the aggregator's own state. Pure.
import type { Departures, Health, ReplicaHealth } from "@isochrone/topology";
import { departureTexts } from "@isochrone/topology/findings";
import { keysOf } from "@isochrone/primitives";
import { downWords, PAIR, staleAfterSeconds, type ClusterView } from "../model/cluster-view.ts";
import { age, clockTime, count, plural } from "../model/format.ts";

export interface Finding {
  readonly level: "bad" | "warn";
  readonly title: string;
  readonly remedy: string;
}

export interface Instrument {
  readonly node: string;
  readonly peers: number;
  readonly answering: number;
  /** Age of the newest answer and of the newest usage; NaN: none. */
  readonly probeAgeSeconds: number;
  readonly usageAgeSeconds: number;
  readonly state: "good" | "warn" | "bad";
  readonly words: string;
  readonly cause: Cause | null;
  readonly down: string | null;
  readonly silent: readonly string[];
}

/** Faults of a node's instruments, worst first: level, description and remedy. */
const CAUSES = {
  down: [
    "bad",
    "",
    "Nothing that is measured on it is shown, and nothing is placed on it. See its kubelet, its power and its network.",
  ],
  mute: [
    "bad",
    "No probe reports from",
    "Check that the probe's pod runs there, then read its log: it names what it can't reach.",
  ],
  silent: [
    "bad",
    "No new answers from the probe of",
    "Read the probe's log on that node, and check that the node is up and reaches the bus.",
  ],
  alone: [
    "bad",
    "No peer answers",
    "The node may be cut off: check its network, and the NetworkPolicies between the probes.",
  ],
  peers: [
    "warn",
    "Some peers don't answer",
    "Open the pair on the Network page, and check the path between the two nodes.",
  ],
  noUsage: [
    "warn",
    "No CPU and memory usage of",
    "Check that the collector's pod runs there, then read its log: it names what it can't scrape.",
  ],
  oldUsage: [
    "warn",
    "Old CPU and memory usage of",
    "Read the collector's log on that node: it names what it can't scrape.",
  ],
} as const satisfies Record<string, readonly [Finding["level"], what: string, next: string]>;
type Cause = keyof typeof CAUSES;

const LAG = 10_000;
const SKEW_SECONDS = 5;

export function instrumentsOf({ nodes, pairs, windowSeconds, observedAt }: ClusterView): Instrument[] {
  const timeText = (at: string): string => clockTime(at, Date.parse(observedAt));
  const stale = staleAfterSeconds(windowSeconds);
  const instruments = nodes.map((node, row): Instrument => {
    const { name, usageAgeSeconds } = node;
    const down = downWords(node, timeText);
    const [from, to] = [pairs.rowStart[row]!, pairs.rowStart[row + 1]!];
    let [peers, newest] = [0, Number.POSITIVE_INFINITY];
    const silent: string[] = [];
    for (let at = from; at < to; at++) {
      if ((pairs.flags[at]! & (PAIR.estimated | PAIR.declared)) !== 0) continue;
      peers++;
      const seconds = pairs.figures.ageSeconds[at]!;
      if ((pairs.flags[at]! & PAIR.dead) !== 0 || !(seconds <= stale))
        silent.push(nodes[pairs.column[at]!]!.name);
      if (seconds < newest) newest = seconds;
    }
    const probeAgeSeconds = newest === Number.POSITIVE_INFINITY ? Number.NaN : newest;
    const usage = usageAgeSeconds ?? Number.NaN;
    const answering = peers - silent.length;
    return {
      node: name,
      peers,
      answering,
      probeAgeSeconds,
      usageAgeSeconds: usage,
      silent,
      down,
      ...verdict(down === null ? null : node.down!.cause, peers, answering, probeAgeSeconds, usage, stale),
    };
  });
  const order = { bad: 0, warn: 1, good: 2 } as const;
  return instruments.sort((a, b) => order[a.state] - order[b.state]);
}

function verdict(
  down: "not_ready" | "silent" | null,
  peers: number,
  answering: number,
  probeAge: number,
  usageAge: number,
  stale: number,
): Pick<Instrument, "state" | "words" | "cause"> {
  const of = (cause: Cause, words: string) => ({ state: CAUSES[cause][0], words, cause });
  if (down !== null) return of("down", down === "silent" ? "silent" : "not ready");
  if (peers === 0) return of("mute", "no probe reports");
  if (!(probeAge <= stale)) return of("silent", "the probe is silent");
  if (answering === 0) return of("alone", "no peer answers");
  if (answering < peers) return of("peers", `${peers - answering} of ${peers} peers don't answer`);
  if (Number.isNaN(usageAge)) return of("noUsage", "no usage is known");
  if (usageAge > stale) return of("oldUsage", "usage is old");
  return { state: "good", words: "well", cause: null };
}

/** Note on the total of the coverage. Plans still include pairs of down nodes. */
export function coverageNote(
  pairs: number,
  plannedPairs: number | null,
  instruments: readonly Pick<Instrument, "down">[],
): string {
  const measured = `${count(pairs)} pairs measured`;
  const down = instruments.filter((each) => each.down !== null).length;
  if (down > 0)
    return `${measured}; pairs of ${plural(down, "node")} that ${down === 1 ? "is" : "are"} down left out`;
  return plannedPairs === null ? measured : `${measured} of ${count(plannedPairs)} planned`;
}

const MOST_NAMES = 3;

function named(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}

/** One sentence per down node; for many, only their names. */
function downTitle(sick: readonly Instrument[]): string {
  if (sick.length <= MOST_NAMES) return sick.map(({ down }) => down).join(". ");
  return `${plural(sick.length, "node")} are down: ${named(sick.map(({ node }) => node))}`;
}

function findingOf(cause: Cause, instruments: readonly Instrument[]): Finding | null {
  const sick = instruments.filter((each) => each.cause === cause);
  if (sick.length === 0) return null;
  const [level, what, remedy] = CAUSES[cause];
  if (cause === "down") return { level, title: downTitle(sick), remedy };
  if (cause !== "peers")
    return {
      level,
      title: `${what} ${plural(sick.length, "node")}: ${named(sick.map(({ node }) => node))}`,
      remedy,
    };
  const pairs = sick.flatMap(({ node, silent }) => silent.map((peer) => `${node} → ${peer}`));
  return { level, title: `${what}: ${named(pairs)}`, remedy };
}

export const total = (reasons: Readonly<Record<string, number>>): number =>
  Object.values(reasons).reduce((sum, value) => sum + value, 0);

export function replicasOf({ ready, version, graphAgeSeconds, replicas }: Health): readonly ReplicaHealth[] {
  const { replica, isLeader, lag, all } = replicas;
  const own = { replica: replica ?? "", problem: null, ready, isLeader, version, graphAgeSeconds };
  return all ?? [{ ...own, lag }];
}

export function waitingOf(replicas: readonly ReplicaHealth[]): number {
  return replicas.flatMap(({ lag }) => lag).reduce((sum, { records }) => sum + records, 0);
}

function silenceOf(unreachable: readonly ReplicaHealth[]): [title: string, remedy: string] {
  const reasons = unreachable.map(({ replica, problem }) => `${replica}: ${problem}`).join("; ");
  return [
    `${plural(unreachable.length, "replica")} of the aggregator can't be asked`,
    `${reasons}. Its Lease holds: read its log, and check the NetworkPolicies between the replicas.`,
  ];
}

/** `probe 0, 2; usage 1`: partitions by the topic's distinguishing word. */
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

/** Most refused sources and reasons. @param refused sorted, most first */
function refusedNext(refused: NonNullable<Health["intake"]["refusedNow"]>): string {
  const sources = new Set(refused.map(({ source }) => source)).size;
  const { source = "", reason = "" } = refused[0] ?? {};
  const who = sources === 1 ? `All came from ${source}` : `Of ${count(sources)} sources ${source} sent most`;
  return `Most of them: ${reason.replaceAll("_", " ")}. ${who}. Find the details in the aggregator's log.`;
}

/** Unread metrics are common and no loss. */
const NO_LOSS = "unknown_metric";
const SHOWN_REASONS = 3;

function unusedText(unused: NonNullable<Health["intake"]["unusedNow"]>): [title: string, remedy: string] {
  const shown = unused
    .slice(0, SHOWN_REASONS)
    .map(({ reason, points }) => `${reason.replaceAll("_", " ")} (${count(points)})`);
  const { example = "", remedy = "" } = unused[0] ?? {};
  const points = unused.reduce((sum, each) => sum + each.points, 0);
  return [
    `${plural(points, "point")} of the last window are in no graph: ${shown.join(", ")}`,
    `Most of them, such as ${example}: ${remedy}`,
  ];
}

function intakeFindings(intake: Health["intake"]): Finding[] {
  const { refusedNow = [], unusedNow = [] } = intake;
  const unused = unusedNow.filter(({ reason }) => reason !== NO_LOSS);
  const refused = refusedNow.reduce((sum, each) => sum + each.refused, 0);
  const findings: readonly (readonly [count: number, title: string, remedy: string])[] = [
    [
      intake.missing,
      `${plural(intake.missing, "record")} never came`,
      "The bus lost them, or a publisher was killed: look for restarts of probes and collectors, then check the bus.",
    ],
    [
      intake.publisherDropped,
      `Publishers dropped ${plural(intake.publisherDropped, "record")}`,
      "The bus was away or slow for longer than their buffers hold: check that it is up and has room.",
    ],
    [
      refused,
      `${plural(refused, "point")} or records were refused in the last window`,
      refusedNext(refusedNow),
    ],
    [unused.length, ...unusedText(unused)],
    [
      intake.deadLetters,
      `${plural(intake.deadLetters, "record")} could not be used`,
      "Read them on the dead-letter topic: each has its reason in a header.",
    ],
  ];
  return findings
    .filter(([number]) => number > 0)
    .map(([, title, remedy]) => ({ level: "warn", title, remedy }));
}

/** Further cuts are only counted. */
const NAMED_CUTS = 4;

function cutFindings(cuts: readonly string[]): Finding[] {
  if (cuts.length === 0) return [];
  const named = cuts.slice(0, NAMED_CUTS).join(", ");
  const title = `No answer: ${named}${cuts.length > NAMED_CUTS ? ` and ${cuts.length - NAMED_CUTS} more` : ""}`;
  const remedy =
    "All probes of the last panes were lost. Placement avoids them; see firewalls, routes and the nodes.";
  return [{ level: "bad", title, remedy }];
}

/** Further pairs are only counted. */
const NAMED_DEPARTURES = 6;

export function departureFindings(departures: Departures, timeOf: (at: string) => string): Finding[] {
  const texts = departureTexts(departures, { arrow: "↔", timeOf });
  const findings = texts.slice(0, NAMED_DEPARTURES).map(({ text, pair }): Finding => {
    const remedy =
      pair === null
        ? "Look at the load of the nodes first: a busy machine measures slow links."
        : "Placement uses the new figures. Open the pair on the Network page, then check the path between the nodes.";
    return { level: "warn", title: text, remedy };
  });
  const more = texts.length - findings.length;
  if (more > 0)
    findings.push({
      level: "warn",
      title: `${plural(more, "more pair")} of nodes changed`,
      remedy: "See in the matrix whether they share a node or a zone.",
    });
  return findings;
}

/** Findings with remedies; empty if all is well. @param cuts unreachable nodes and pairs */
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
  const ofNodes = (wanted: Finding["level"]): void => {
    for (const cause of keysOf(CAUSES)) {
      const finding = findingOf(cause, instruments);
      if (finding?.level === wanted) findings.push(finding);
    }
  };
  const all = replicasOf(health);
  const lag = waitingOf(all);
  const unreachable = all.filter(({ problem }) => problem !== null);
  const [skew, skewed] = health.clocks.reduce<readonly [number, string]>(
    (most, { source, skewSeconds }) =>
      Math.abs(skewSeconds) > most[0] ? [Math.abs(skewSeconds), source] : most,
    [0, ""],
  );
  add(
    !health.ready,
    "bad",
    "The aggregator isn't ready",
    `${health.reasons.join("; ") || "It names no reason"}. Read its log if this lasts longer than a window.`,
  );
  add(
    (health.graphAgeSeconds ?? 0) > 2 * windowSeconds,
    "bad",
    `The newest graph is ${age(health.graphAgeSeconds)} old`,
    "Building fails or is too slow: read the aggregator's log, and compare its CPU with its limit.",
  );
  ofNodes("bad");
  add(
    health.buildFailures > 0,
    "bad",
    `${plural(health.buildFailures, "build")} of graphs failed`,
    "The last good graph stays in use. Read the aggregator's log: it names the error.",
  );
  add(unreachable.length > 0, "warn", ...silenceOf(unreachable));
  add(
    lag > LAG,
    "warn",
    `${count(lag)} records wait to be read`,
    "The aggregator falls behind: raise its CPU limit where it is reached, or add replicas.",
  );
  findings.push(...intakeFindings(health.intake));
  add(
    skew > SKEW_SECONDS,
    "warn",
    `The clock of ${skewed} is off by ${age(skew)}`,
    "Its figures are shifted in time: check that the node's clock is synchronized (NTP).",
  );
  ofNodes("warn");
  return findings;
}
