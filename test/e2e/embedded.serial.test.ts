// The tests share one system in order: steady state, changes, damage.
import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { panelQueries, scrapeEmbedded, seriesOf } from "../harness/dashboards.ts";
import { EmbeddedSystem, eventually, type EndToEnd } from "../harness/embedded.ts";
import { expectSlowest, lookAtPages, PageVisit } from "../harness/page-visit.ts";
import { canRunPrometheus } from "../harness/prometheus/server.ts";

interface PairRecord {
  readonly source: string;
  readonly target: string;
  readonly udp: { readonly count: number; readonly p50Ms: number | null; readonly p90Ms: number | null };
}

interface ReceiverCount {
  readonly source: string;
  readonly target: string;
  readonly count: number;
}

const WINDOW_MS = 30_000;

/** The sample DAG of the manifest. */
const DAG: Readonly<Record<string, readonly string[]>> = {
  m0: ["m1", "m2", "m3"],
  m1: ["m4", "m5"],
  m2: ["m5", "m6", "m7"],
  m3: ["m7", "m8"],
  m4: ["m9", "db1"],
  m5: ["m9", "m10"],
  m6: ["m10", "db2"],
  m7: ["m11"],
  m8: ["m11", "m12"],
  m9: ["db1"],
  m10: ["db2"],
  m11: ["db3"],
  m12: ["db4"],
};
const CHANNELS = Object.entries(DAG).flatMap(([source, targets]) =>
  targets.map((target) => `${source} ${target}`),
);

const udpLinks = (graph: ClusterGraphSnapshot): Link[] =>
  graph.links.filter(({ method }) => method === "udp_rr");
const linkOf = (graph: ClusterGraphSnapshot, source: string, target: string): Link | undefined =>
  udpLinks(graph).find((link) => link.source === source && link.target === target);

/** Prefixes of hints whose features are on in the embedded cluster. Its webhook has certificates. */
const FEATURES_ON = [
  "Served without certificates",
  "The descheduler is off",
  "The planner is off",
  "There is no price for these zones",
];

/** The extender is asked only while pods are placed: whether its rates have data depends on the minute. */
const SOMETIMES_ON = "There is no question of kube-scheduler";

/** As a share of the tolerance: 5 % or 1.5 ms, the larger. */
const deviation = (graphMs: number, recordMs: number): number =>
  Math.abs(graphMs - recordMs) / Math.max(0.05 * recordMs, 1.5);

describe("the embedded cluster", () => {
  let system: EmbeddedSystem;
  let startedAt: number;

  beforeAll(async () => {
    system = await EmbeddedSystem.start("--acts", "spread", "score");
    startedAt = Date.now();
  }, 90_000);

  afterAll(async () => {
    await system?.stop();
  }, 30_000);

  it("measures every ordered pair within 5 % or 1.5 ms of what the emulator did to its packets, under load", async () => {
    await eventually("every pair has p50 and p90 of a nearly full window", 55_000, async () => {
      const links = udpLinks(await system.cluster());
      return (
        links.length === 56 &&
        links.every(({ rttMs, provisional }) => rttMs.p50 !== null && rttMs.p90 !== null && !provisional)
      );
    });
    // Each pair must agree in both quantiles in one sample, though not all in the same one. Queueing before
    // the relay is in the graph only and moves a p90 of 60 samples. In the last sample a few may be off, none
    // by more than twice the tolerance.
    const agreed = new Set<string>();
    // Usually within 60 s. Not asserted, because replacements disturb half a minute of measurements.
    const patienceMs = 130_000 - (Date.now() - startedAt);
    const last = await eventually("graph and record agree", patienceMs, async () => {
      const [graph, record] = await Promise.all([
        system.cluster(),
        system.get<{ pairs: PairRecord[] }>("lab", `/lab/v1/record?last=${WINDOW_MS}ms`),
      ]);
      const pairs = record.pairs.map(({ source, target, udp }) => {
        const { rttMs } = linkOf(graph, source, target)!;
        const worst = Math.max(deviation(rttMs.p50!, udp.p50Ms!), deviation(rttMs.p90!, udp.p90Ms!));
        return { pair: `${source} ${target}`, worst, graph: rttMs, udp };
      });
      expect(pairs).toHaveLength(56);
      for (const { pair, worst } of pairs) if (worst <= 1) agreed.add(pair);
      const outside = pairs.filter(({ worst }) => worst > 1);
      if (agreed.size < 56 || outside.length > 4 || outside.some(({ worst }) => worst > 2)) {
        const shown = JSON.stringify(outside.slice(0, 5));
        throw new Error(`${agreed.size} of 56 pairs have agreed, ${outside.length} are off now: ${shown}`);
      }
      return { outside: outside.length, worst: Math.max(...pairs.map(({ worst }) => worst)) };
    });
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
    const percent = (last.worst * 100).toFixed(0);
    console.log(
      `worst deviation: ${percent} % of what is allowed, ${last.outside} outside, ${seconds} s after start`,
    );
  }, 190_000);

  it("lowers the workflow's end-to-end p95 by re-placing by score, and says so", async () => {
    const replaced = await system.event("replaced", 150_000);
    const before = replaced["before"] as EndToEnd;
    const after = replaced["after"] as EndToEnd;
    console.log(`p95 before ${before.p95Ms?.toFixed(0)} ms, after ${after.p95Ms?.toFixed(0)} ms`);
    expect(before.count).toBeGreaterThan(20);
    expect(after.count).toBeGreaterThan(20);
    expect(after.p95Ms!).toBeLessThan(before.p95Ms!);
    const { decisions } = await system.decisions();
    expect(decisions.length).toBeGreaterThanOrEqual(17);
    expect(decisions[0]!.explanation.length).toBeGreaterThan(0);
  }, 160_000);

  it("gives every channel of the DAG with a rate within 10 % of what the receivers counted", async () => {
    const worst = await eventually("rates agree", 150_000, async () => {
      const receivers = async (): Promise<Map<string, number>> =>
        new Map(
          (await system.get<{ channels: ReceiverCount[] }>("lab", "/lab/v1/receivers")).channels.map(
            ({ source, target, count }) => [`${source} ${target}`, count],
          ),
        );
      const [first, at] = [await receivers(), Date.now()];
      await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
      const [second, workflow] = [await receivers(), await system.workflow()];
      const seconds = (Date.now() - at) / 1000;
      const rates = new Map(
        workflow.channels.map((channel) => [`${channel.source} ${channel.target}`, channel]),
      );
      expect([...rates.keys()].sort()).toEqual([...CHANNELS].sort());
      const deviations = CHANNELS.map((channel) => {
        const truth = (second.get(channel)! - (first.get(channel) ?? 0)) / seconds;
        return Math.abs(rates.get(channel)!.requestsPerSecond! - truth) / truth;
      });
      if (Math.max(...deviations) > 0.1) throw new Error(`rates deviate by up to ${Math.max(...deviations)}`);
      return Math.max(...deviations);
    });
    console.log(`worst channel rate: ${(worst * 100).toFixed(1)} % off`);
    const workflow = await system.workflow();
    expect(workflow.channels.every(({ bytesPerSecond }) => bytesPerSecond! > 0)).toBe(true);
    expect(workflow.workloads).toHaveLength(17);
    expect(
      workflow.workloads.every(({ cpuMillicores, memoryBytes }) => cpuMillicores! > 0 && memoryBytes! > 0),
    ).toBe(true);
  }, 160_000);

  it("shows a changed link in matrix, costs and scores within two windows", async () => {
    const { nodes } = await system.cluster();
    const [a, b] = [nodes[0]!.name, nodes[1]!.name];
    const looking = hasBrowser ? await PageVisit.open(system.urls.page) : null;
    const changedAt = Date.now();
    await system.cli("lab", "link", a, b, "--delay", "400ms", "--lab", system.urls.lab);
    await eventually("the graph shows 400 ms", 2 * WINDOW_MS, async () => {
      const link = linkOf(await system.cluster(), a, b);
      return link !== undefined && link.costMs !== null && Math.abs(link.costMs - 400) < 25;
    });
    if (looking !== null) {
      await expectSlowest(looking, a, b, 2 * WINDOW_MS - (Date.now() - changedAt));
      await looking.close();
    }
    // For a pod that talks to pods on `b`, a fresh scoring must rate `a` as costlier than before.
    const scores = await scoresOf(system, b);
    expect(scores.get(a)!).toBeLessThan(
      Math.max(...[...scores].filter(([name]) => name !== a && name !== b).map(([, score]) => score)),
    );
  }, 90_000);

  it("shows loss 1 and an unknown cost for a cut pair after the window, fails the calls over it, and leaves the others alone", async () => {
    const workflow = await system.workflow();
    const nodeOf = new Map(workflow.workloads.map(({ name, pods }) => [name, pods[0]!.node!]));
    const crossing = workflow.channels.find(
      ({ source, target }) => nodeOf.get(source) !== nodeOf.get(target),
    )!;
    const [a, b] = [nodeOf.get(crossing.source)!, nodeOf.get(crossing.target)!];
    const { nodes } = await system.cluster();
    const c = nodes.find(({ name }) => name !== a && name !== b)!.name;
    await system.cli("lab", "link", a, b, "--cut", "--lab", system.urls.lab);
    await eventually("loss 1, cost unknown, calls fail", WINDOW_MS + 15_000, async () => {
      const link = linkOf(await system.cluster(), a, b);
      const channel = (await system.workflow()).channels.find(
        ({ source, target }) => source === crossing.source && target === crossing.target,
      );
      return (
        link?.lossRatio === 1 && link.costMs === null && link.rttMs.p50 === null && channel?.errorRatio === 1
      );
    });
    expect(linkOf(await system.cluster(), a, c)!.rttMs.p50).not.toBeNull();
    await system.cli("lab", "link", a, b, "--heal", "--lab", system.urls.lab);
    await eventually("the healed pair is measured again and calls succeed", WINDOW_MS + 10_000, async () => {
      const link = linkOf(await system.cluster(), a, b);
      const channel = (await system.workflow()).channels.find(
        ({ source, target }) => source === crossing.source && target === crossing.target,
      );
      return link?.rttMs.p50 !== null && (channel?.errorRatio ?? 1) < 1;
    });
  }, 120_000);

  it("answers the command line: graph, explain, lab matrix", async () => {
    expect(await system.cli("graph", "--server", system.urls.page)).toContain("cost ± error in ms");
    const { cluster } = JSON.parse(await system.cli("graph", "--server", system.urls.page, "-o", "json")) as {
      cluster: ClusterGraphSnapshot;
    };
    expect(cluster.nodes).toHaveLength(8);
    expect(await system.cli("explain", "m0", "--server", system.urls.page)).toContain("resource-network");
    const { nodes, rttMs } = JSON.parse(
      await system.cli("lab", "matrix", "-o", "json", "--lab", system.urls.lab),
    ) as { nodes: string[]; rttMs: number[][] };
    expect(nodes).toHaveLength(8);
    expect(rttMs).toHaveLength(8);
    expect(await system.cli("graph", "--server", system.urls.page, "-o", "dot")).toMatch(
      /^digraph isochrone/,
    );
    const doctor = await system.cli(
      "doctor",
      "--server",
      system.urls.page,
      "--only",
      "clocks",
      "sources",
      "-o",
      "json",
    );
    const { findings } = JSON.parse(doctor) as { findings: { check: string; severity: string }[] };
    const severityOf = new Map(findings.map(({ check, severity }) => [check, severity]));
    expect(severityOf.get("aggregator's clock")).toBe("ok");
    expect(severityOf.get("usage of nodes")).toBe("ok");
  }, 60_000);

  it.skipIf(!hasBrowser)(
    "shows on its pages what the API says, to everyone, without an error in the browser",
    async () => {
      const looking = await PageVisit.open(system.urls.page);
      try {
        await lookAtPages(looking, system);
        await looking.goTo("/network");
        expect(looking.faults).toEqual([]);
      } finally {
        await looking.close();
      }
    },
    90_000,
  );

  it.skipIf(!canRunPrometheus)(
    "gives every panel of Grafana's dashboards data, as a real Prometheus scrapes it",
    async () => {
      const prometheus = await scrapeEmbedded(system.urls.lab);
      try {
        await eventually("no panel is empty", 120_000, async () => {
          const empty: string[] = [];
          for (const { panel, expr, hint } of panelQueries())
            if (hint === null && (await seriesOf(prometheus, expr)) === 0) empty.push(`${panel} (${expr})`);
          if (empty.length > 0) throw new Error(`${empty.length} are empty: ${empty.join("; ")}`);
          return true;
        });
        // Both directions: a hint that a feature is off is shown only if it is off.
        await eventually("hints of panels with data are those of features that are on", 60_000, async () => {
          const contradicted = new Set<string>();
          for (const { expr, hint } of panelQueries())
            if (hint !== null && (await seriesOf(prometheus, expr)) > 0)
              contradicted.add(hint.split(/[:,]/)[0]!);
          contradicted.delete(SOMETIMES_ON);
          expect([...contradicted].sort()).toEqual(FEATURES_ON);
          return true;
        });
      } finally {
        await prometheus.stop();
      }
    },
    240_000,
  );

  it("falls silent, and shows no old values, while the relay hangs; a killed one comes back", async () => {
    const { relayPid } = await system.get<{ relayPid: number }>("lab", "/lab/v1/processes");
    process.kill(relayPid, "SIGSTOP");
    await eventually("no pair has a round-trip time", WINDOW_MS + 20_000, async () => {
      const links = udpLinks(await system.cluster());
      return (
        links.length === 56 &&
        links.every(
          ({ rttMs, lossRatio, costMs }) => rttMs.p50 === null && costMs === null && lossRatio === 1,
        )
      );
    });
    process.kill(relayPid, "SIGKILL");
    await eventually("all pairs have a round-trip time again", WINDOW_MS + 20_000, async () =>
      udpLinks(await system.cluster()).every(({ rttMs }) => rttMs.p50 !== null),
    );
  }, 150_000);

  it("ends cleanly on Ctrl-C and leaves no process behind", async () => {
    const { pids } = await system.get<{ pids: number[] }>("lab", "/lab/v1/processes");
    expect(pids.length).toBeGreaterThanOrEqual(17);
    expect(await system.stop()).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
  }, 40_000);
});

/** The pod does not exist in the cluster: the extender answers and records no decision. */
async function scoresOf(system: EmbeddedSystem, node: string): Promise<Map<string, number>> {
  const workflow = await system.workflow();
  const onNode = new Set(
    workflow.workloads.filter(({ pods }) => pods.some((pod) => pod.node === node)).map(({ name }) => name),
  );
  const partner = workflow.channels.find(({ source, target }) => onNode.has(source) !== onNode.has(target));
  const workload =
    partner === undefined ? "m0" : onNode.has(partner.source) ? partner.target : partner.source;
  const { nodes } = await system.cluster();
  const pod = {
    metadata: {
      name: `${workload}-probe-of-a-test`,
      namespace: "default",
      labels: { "isochrone.dev/workflow": "sample", app: workload },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${workload}-5c7d9f`, uid: "u", controller: true },
      ],
    },
    spec: { containers: [{ name: "app", resources: { requests: { cpu: "50m", memory: "64Mi" } } }] },
  };
  const response = await fetch(`${system.urls.extender}/prioritize`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ Pod: pod, Nodes: null, NodeNames: nodes.map(({ name }) => name) }),
  });
  expect(response.status).toBe(200);
  const answer = (await response.json()) as { readonly Host: string; readonly Score: number }[];
  return new Map(answer.map(({ Host, Score }) => [Host, Score]));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
