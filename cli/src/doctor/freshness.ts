import {
  droppedElements,
  type ClusterGraphSnapshot,
  type Departures,
  type Dropped,
  type Health,
} from "@isochrone/topology";
import { departureTexts } from "@isochrone/topology/findings";
import { NAME_A_SERVER, ok, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

/** The graph API's answers; null if missing, see `why`. */
export interface GraphFacts {
  readonly cluster: ClusterGraphSnapshot | null;
  readonly dropped?: Dropped;
  readonly health: Health | null;
  readonly why: string;
  /** A default address: no answer is not a fault. */
  readonly isAssumed: boolean;
  readonly server: string;
}

const MAX_GRAPH_AGE_SECONDS = 60;
const MAX_LAG_RECORDS = 10_000;
const SHOWN = 5;

export function judgeFreshness(facts: GraphFacts): Verdict[] {
  const { health, why, isAssumed, server } = facts;
  const reach = { check: "graph API", looked: server, rule: "it answers", remedy: NAME_A_SERVER };
  if (facts.cluster === null)
    return [isAssumed ? skipped({ ...reach, why }) : verdict(false, "error", { ...reach, value: why })];
  const { cluster } = facts;
  const up = withoutDown(cluster);
  return [
    ok({ ...reach, value: `graph ${cluster.version} of ${cluster.nodes.length} nodes` }),
    ...(health === null ? [noHealth(why)] : ofHealth(health)),
    rulesVerdict(facts.dropped),
    downVerdict(cluster),
    coverageVerdict(up),
    silentVerdict(up),
    departuresVerdict(health?.departures),
    nodesVerdict(up),
  ];
}

function withoutDown(cluster: ClusterGraphSnapshot): ClusterGraphSnapshot {
  const nodes = cluster.nodes.filter(({ down }) => down === undefined);
  const up = new Set(nodes.map(({ name }) => name));
  return {
    ...cluster,
    nodes,
    links: cluster.links.filter(({ source, target }) => up.has(source) && up.has(target)),
  };
}

function downVerdict({ nodes }: ClusterGraphSnapshot): Verdict {
  const down = nodes.flatMap((node) => node.down ?? []);
  const more = down.length > SHOWN ? ` and ${down.length - SHOWN} more` : "";
  return verdict(down.length === 0, "error", {
    check: "nodes",
    looked: "the cluster graph's nodes",
    value:
      down.length === 0
        ? `none of ${nodes.length} is down`
        : `${down
            .slice(0, SHOWN)
            .map(({ text }) => text)
            .join(". ")}${more}`,
    rule: "each node is ready and answers its peers",
    remedy:
      "See `kubectl describe node`, the node's power and its network. Its pairs are left out of the other checks.",
  });
}

/** Readers drop invalid parts, which would go unnoticed. */
function rulesVerdict(dropped: Dropped | undefined): Verdict {
  const first = dropped?.first ?? null;
  return verdict(first === null, "error", {
    check: "graph rules",
    looked: "GET /api/v1/graph/cluster",
    value:
      first === null ? "all parts" : `${droppedElements(dropped!)} parts are left out; the first: ${first}`,
    rule: "every part of the graph follows the schema",
    remedy: "Upgrade the aggregator; if it has the same release, report the fault.",
  });
}

function noHealth(why: string): Verdict {
  return skipped({
    check: "health",
    looked: HEALTH,
    rule: "the aggregator says how it is",
    why,
    remedy: "Upgrade the aggregator, or read its /metrics.",
  });
}

function ofHealth(health: Health): Verdict[] {
  return [
    ...ofGraph(health),
    ...INTAKE.map(([check, key, severity, rule, remedy]) => {
      const count = health.intake[key];
      return verdict(count === 0, severity, { check, looked: HEALTH, value: String(count), rule, remedy });
    }),
    refusedVerdict(health.intake),
    unusedVerdict(health.intake),
    clustersVerdict(health.intake),
    lagVerdict(health.replicas),
    zonesVerdict(health.probing),
  ];
}

const HEALTH = "GET /api/v1/health";

/** Counts that should be 0: [check, field, severity otherwise, rule, remedy]. */
const INTAKE = [
  [
    "missing records",
    "missing",
    "warning",
    "every record that a publisher sent arrived",
    "Look for a broker that loses data (group kafka), or an aggregator that was killed without Kafka.",
  ],
  [
    "dropped by publishers",
    "publisherDropped",
    "warning",
    "none",
    "Look at isochrone_probe_records_dropped_total and the collectors' log: the bus was unavailable or too slow.",
  ],
  [
    "too late",
    "tooLate",
    "info",
    "none",
    "Compare clocks (group clocks), and look for a collector that catches up after an outage.",
  ],
  [
    "dead letters",
    "deadLetters",
    "warning",
    "every record could be used",
    "Read the dead-letter topic (docs/kafka.md): its records name the fault and the publisher.",
  ],
] as const;

function ofGraph({ ready, reasons, graphAgeSeconds, buildFailures }: Health): Verdict[] {
  return [
    verdict(ready, "error", {
      check: "readiness",
      looked: HEALTH,
      value: ready ? "ready" : reasons.join("; ") || "not ready",
      rule: "the aggregator is ready",
      remedy:
        "Read its log, `kubectl -n isochrone logs statefulset/isochrone-aggregator`; it says what the aggregator waits for.",
    }),
    verdict(graphAgeSeconds !== null && graphAgeSeconds <= MAX_GRAPH_AGE_SECONDS, "error", {
      check: "graph's age",
      looked: HEALTH,
      value: graphAgeSeconds === null ? "no graph yet" : `${graphAgeSeconds.toFixed(1)} s`,
      rule: `at most ${MAX_GRAPH_AGE_SECONDS} s`,
      remedy:
        "See docs/runbooks/README.md: an aggregator that builds no graph lacks CPU or memory, or fails (see its log).",
    }),
    verdict(buildFailures === 0, "warning", {
      check: "failed builds",
      looked: HEALTH,
      value: String(buildFailures),
      rule: "none",
      remedy: "Read the aggregator's log for the failed build's reason, and report it.",
    }),
  ];
}

function lagVerdict({ lag }: Health["replicas"]): Verdict {
  const records = lag.reduce((sum, each) => sum + each.records, 0);
  return verdict(records <= MAX_LAG_RECORDS, "warning", {
    check: "lag",
    looked: HEALTH,
    value: lag.length === 0 ? "no partitions to read" : `${records} records over ${lag.length} partitions`,
    rule: `at most ${MAX_LAG_RECORDS}`,
    remedy: "Start more aggregators (at most bus.partitions of them), or give each more CPU.",
  });
}

function zonesVerdict({ uncoveredZones }: Health["probing"]): Verdict {
  return verdict((uncoveredZones ?? 0) === 0, "warning", {
    check: "zones probed",
    looked: HEALTH,
    value: uncoveredZones === null ? "not told" : `${uncoveredZones} pairs of a node and a zone are left out`,
    rule: "every node probes a node in every other zone",
    remedy: "Raise the number of peers per node (docs/probe-plan.md).",
  });
}

function refusedVerdict({ refused, refusedNow = [] }: Health["intake"]): Verdict {
  const reasons = Object.entries(refused).filter(([, count]) => count > 0);
  return verdict(reasons.length === 0, "warning", {
    check: "refused points",
    looked: HEALTH,
    value:
      reasons.length === 0
        ? "none"
        : `${reasons.map(([reason, count]) => `${reason} ${count}`).join(", ")} since the start; ${nowText(refusedNow)}`,
    rule: "none",
    remedy:
      "Look for a publisher of another version, and at the aggregator's log, which names source and reason.",
  });
}

/** Unread metrics are common and no loss. */
const NO_LOSS = "unknown_metric";

function unusedVerdict({ unusedNow }: Health["intake"]): Verdict {
  const parts = {
    check: "points of no use",
    looked: HEALTH,
    rule: "each point in the last window is part of a graph",
  };
  if (unusedNow === undefined)
    return skipped({ ...parts, why: "not told", remedy: "Upgrade the aggregator, or read its /metrics." });
  const lost = unusedNow.filter(({ reason }) => reason !== NO_LOSS);
  const shown = (lost.length > 0 ? lost : unusedNow).slice(0, SHOWN);
  return verdict(unusedNow.length === 0, lost.length > 0 ? "warning" : "info", {
    ...parts,
    value:
      shown.map(({ reason, points, example }) => `${reason} ${points} (${example})`).join(", ") || "none",
    remedy: shown.map(({ reason, remedy }) => `${reason}: ${remedy}`).join(" "),
  });
}

function clustersVerdict({ clusters }: Health["intake"]): Verdict {
  const parts = { check: "clusters", looked: HEALTH, rule: "telemetry names no other cluster" };
  if (clusters === undefined)
    return skipped({ ...parts, why: "not told", remedy: "Upgrade the aggregator." });
  const text = (isOwn: boolean): string =>
    clusters
      .filter((cluster) => cluster.isOwn === isOwn)
      .map(({ name, series }) => `${name} (${series} series)`)
      .join(", ");
  const others = text(false);
  const own = text(true) || "not named";
  return verdict(others === "", "info", {
    ...parts,
    value: others === "" ? `this one: ${own}` : `this one: ${own}; others, left out: ${others}`,
    remedy: "If one of the others is this cluster, list all names of it in aggregator.clusterNames.",
  });
}

function nowText(refused: NonNullable<Health["intake"]["refusedNow"]>): string {
  if (refused.length === 0) return "none in the last window";
  const shown = refused
    .slice(0, SHOWN)
    .map(({ source, reason, refused: count }) => `${source} ${reason} ${count}`);
  return `in the last window: ${shown.join(", ")}`;
}

function coverageVerdict({ nodes, links }: ClusterGraphSnapshot): Verdict {
  const pairs = nodes.length * (nodes.length - 1);
  const known = new Set(
    links.filter(({ costMs }) => costMs !== null).map(({ source, target }) => `${source} ${target}`),
  );
  const measured = new Set(
    links
      .filter(({ costMs, origin }) => costMs !== null && origin === "measured")
      .map(({ source, target }) => `${source} ${target}`),
  );
  return verdict(known.size >= pairs, "warning", {
    check: "coverage",
    looked: "links of the cluster graph",
    value: `${known.size} of ${pairs} ordered pairs have a cost, ${measured.size} of them measured`,
    rule: "each pair has a cost, measured, estimated or declared",
    remedy:
      "After a start, wait for a window; then check that a probe runs on every node: `kubectl -n isochrone get pods -o wide`.",
  });
}

function silentVerdict({ links }: ClusterGraphSnapshot): Verdict {
  const silent = links
    .filter(({ lossRatio }) => lossRatio === 1)
    .map(({ source, target, method }) => `${source} -> ${target} (${method})`);
  return verdict(silent.length === 0, "error", {
    check: "silent links",
    looked: "lossRatio of the cluster graph's links",
    value:
      silent.length === 0
        ? "none"
        : `${silent.slice(0, SHOWN).join(", ")}${silent.length > SHOWN ? ` and ${silent.length - SHOWN} more` : ""}`,
    rule: "every probed link has answers",
    remedy:
      "Check firewalls and network policies between these nodes for the probes' UDP, TCP and ICMP (docs/measuring.md).",
  });
}

function departuresVerdict(departures: Departures | undefined): Verdict {
  const parts = {
    check: "changed links",
    looked: HEALTH,
    rule: "no pair is slower or loses more than before",
  };
  if (departures === undefined)
    return skipped({ ...parts, why: "not reported", remedy: "Upgrade the aggregator." });
  const words = { arrow: "<->", timeOf: (at: string) => new Date(at).toLocaleTimeString("en-GB") };
  const texts = departureTexts(departures, words).map(({ text }) => text);
  const hidden = texts.length - SHOWN;
  return verdict(texts.length === 0, "warning", {
    ...parts,
    value: texts.slice(0, SHOWN).join(". ") + (hidden > 0 ? `. And ${hidden} more` : "") || "none",
    remedy:
      "See docs/runbooks/IsochronePairsChanged.md. Placement uses the new figures; `isochrone plan NAMESPACE` shows what a move gains.",
  });
}

/** A node neither sending nor reachable is down or has no probe. */
function nodesVerdict({ nodes, links }: ClusterGraphSnapshot): Verdict {
  const measuring = new Set(links.filter(({ rttMs }) => rttMs.count > 0).map(({ source }) => source));
  const mute = nodes.filter(({ name, ready }) => ready && !measuring.has(name)).map(({ name }) => name);
  return verdict(mute.length === 0 || nodes.length < 2, "warning", {
    check: "instruments",
    looked: "samples of each node's own links",
    value:
      mute.length === 0
        ? `all ${nodes.length} nodes measure`
        : `no samples from ${mute.slice(0, SHOWN).join(", ")}${mute.length > SHOWN ? ` and ${mute.length - SHOWN} more` : ""}`,
    rule: "each ready node's probe measures",
    remedy:
      "Read the log and /metrics (port 7412) of that node's probe: it has no plan, no key, or no route to its peers.",
  });
}
