import { createMemoryStore } from "@isochrone/kubernetes/memory";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { ManualClock } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot, Health } from "@isochrone/topology";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findingsText } from "../commands/doctor.ts";
import { judgeApiServer } from "./api-server.ts";
import { judgeClocks, skewOf } from "./clocks.ts";
import { judgeDefinitions, readDefinitions } from "./crds.ts";
import type { Verdict } from "./finding.ts";
import { judgeExtender } from "./extender.ts";
import { judgeFreshness } from "./freshness.ts";
import { judgeKafka } from "./kafka.ts";
import { judgeKernel, judgeNode, judgePermissions } from "./machine.ts";
import { readRbacFiles, rightsOf, rightText } from "./rbac-files.ts";
import { judgeRbac, lookAtRbac } from "./rbac.ts";
import { judgeSockets } from "./sockets.ts";
import { judgeSources } from "./sources.ts";

const CHART = fileURLToPath(new URL("../../../helm/isochrone", import.meta.url));

const severities = (verdicts: readonly Verdict[]): Record<string, string> =>
  Object.fromEntries(verdicts.map(({ check, severity }) => [check, severity]));

function expectRemedies(verdicts: readonly Verdict[]): void {
  const bad = verdicts.filter(({ severity }) => severity === "warning" || severity === "error");
  expect(bad.filter(({ remedy }) => remedy === null)).toEqual([]);
  expect(verdicts.filter(({ value }) => value === "")).toEqual([]);
}

describe("this machine", () => {
  const sockets = {
    obstacle: null,
    icmp: [],
    stamps: { sends: true, receives: true },
    stampsObstacle: null,
  };
  const kernel = { platform: "linux", release: "6.1.0-18-amd64", clockSource: "tsc", sockets };

  it("wants Node 24", () => {
    expect(severities(judgeNode("v24.1.0"))).toEqual({ version: "ok" });
    expect(severities(judgeNode("v22.9.0"))).toEqual({ version: "error" });
  });

  it("judges the kernel", () => {
    expect(severities(judgeKernel(kernel))).toEqual({
      version: "ok",
      timestamps: "ok",
      "clock source": "ok",
    });
    const old = judgeKernel({
      ...kernel,
      release: "4.4.0",
      clockSource: "hpet",
      sockets: { ...sockets, stamps: { sends: false, receives: true } },
    });
    expect(severities(old)).toEqual({ version: "warning", timestamps: "warning", "clock source": "warning" });
    expectRemedies(old);
  });

  it("skips what it can't see, and says why", () => {
    const unseen = judgeKernel({
      ...kernel,
      clockSource: null,
      sockets: { ...sockets, obstacle: "no koffi", stamps: null },
    });
    expect(severities(unseen)).toMatchObject({ timestamps: "skipped", "clock source": "skipped" });
    expect(unseen[1]!.value).toBe("no koffi");
    expect(severities(judgeKernel({ ...kernel, platform: "darwin" }))).toEqual({ version: "skipped" });
    const none = { platform: "linux", userId: null, capabilities: null, maxOpenFiles: null, cpuMax: null };
    expect(new Set(Object.values(severities(judgePermissions(none))))).toEqual(new Set(["skipped"]));
  });

  it("judges permissions", () => {
    const verdicts = judgePermissions({
      platform: "linux",
      userId: 1000,
      capabilities: 1n << 13n,
      maxOpenFiles: 256,
      cpuMax: "50000 100000",
    });
    expect(severities(verdicts)).toEqual({
      capabilities: "ok",
      "open files": "warning",
      "CPU limit": "info",
    });
    expect(verdicts[0]!.value).toContain("CAP_NET_RAW held");
  });

  it.each([
    [null, null, "ok"],
    ["socket: EACCES", null, "info"],
    ["socket: EACCES", "socket: EPERM", "error"],
  ] as const)("judges ICMP with datagram %s and raw %s", (datagram, raw, severity) => {
    const verdicts = judgeSockets({
      obstacle: null,
      icmp: [
        { family: 4, mode: "datagram", refusal: datagram },
        { family: 4, mode: "raw", refusal: raw },
        { family: 6, mode: "datagram", refusal: "socket: EAFNOSUPPORT" },
        { family: 6, mode: "raw", refusal: "socket: EAFNOSUPPORT" },
      ],
      netPing: null,
      pingGroupRange: "1 0",
      bound: { UDP: null, TCP: "EACCES" },
    });
    expect(severities(verdicts)).toEqual({
      ICMPv4: severity,
      ICMPv6: "info",
      "net-ping": "ok",
      "UDP bind": "ok",
      "TCP bind": "error",
    });
    expectRemedies(verdicts);
  });
});

describe("clocks", () => {
  it.each([
    [1_000, 1_500, 1_600, 1_000, 0],
    [5_000, 1_000, 1_200, 1_000, 3_800],
    [1_000, 9_000, 9_100, 1_000, -7_000],
  ])("tells how far %d is ahead of %d to %d", (at, asked, answered, resolution, skew) => {
    expect(skewOf(at, asked, answered, resolution)).toBe(skew);
  });

  it("judges clocks, and skips those that nobody read", () => {
    const look = { why: "none named", askedAtMs: 100_000, answeredAtMs: 100_010, resolutionMs: 1 };
    const verdicts = judgeClocks(
      [
        { ...look, name: "API server", atMs: null },
        { ...look, name: "aggregator", atMs: 20_000 },
      ],
      { clocks: [{ source: "probe/n1", skewSeconds: -4 }] } as unknown as Health,
      "",
    );
    expect(severities(verdicts)).toEqual({
      "API server's clock": "skipped",
      "aggregator's clock": "error",
      "sources' clocks": "warning",
    });
    expect(verdicts[2]!.value).toContain("probe/n1");
  });
});

describe("Kafka", () => {
  const facts = { brokers: ["k:9092"], authentication: "plain TCP, no name", topics: 6 };

  it("names each deviation with what mends it", () => {
    const deviation = { topic: "t", setting: "retention.ms", wanted: "at least 5", found: "1", reason: "r" };
    const verdicts = judgeKafka({
      ...facts,
      brokerCount: 3,
      deviations: [
        { ...deviation, severity: "error" },
        { ...deviation, setting: "partitions", severity: "warning" },
      ],
      error: null,
    });
    expect(verdicts.map(({ severity }) => severity)).toEqual(["ok", "error", "warning"]);
    expect(verdicts[1]!.remedy).toContain("--add-config retention.ms=5");
    expectRemedies(verdicts);
  });

  it.each(["unauthenticated", "untrusted", "unauthorized", "unavailable"])("has a remedy for %s", (code) => {
    const verdicts = judgeKafka({
      ...facts,
      brokerCount: null,
      deviations: null,
      error: { code, message: "m" },
    });
    expect(severities(verdicts)).toEqual({ brokers: "error", topics: "skipped" });
    expectRemedies(verdicts);
  });

  it("is skipped where it isn't the bus", () => {
    expect(severities(judgeKafka(null))).toEqual({ brokers: "skipped" });
  });
});

describe("the cluster", () => {
  const look = {
    source: "kubeconfig f",
    server: "https://s",
    status: 200,
    gitVersion: "v1.35.8",
    dateMs: 0,
    askedAtMs: 0,
    answeredAtMs: 0,
    error: null,
  };
  const installation = { release: "isochrone", namespace: "sys" };

  it("judges the API server", () => {
    expect(severities(judgeApiServer(look, ""))).toEqual({ reachable: "ok", version: "ok" });
    expect(severities(judgeApiServer({ ...look, gitVersion: "v1.28.1" }, ""))).toMatchObject({
      version: "warning",
    });
    expect(severities(judgeApiServer({ ...look, status: 401 }, ""))).toEqual({ reachable: "error" });
    expect(severities(judgeApiServer({ ...look, error: "refused" }, ""))).toEqual({ reachable: "error" });
    expect(severities(judgeApiServer(null, "none"))).toEqual({ reachable: "skipped" });
  });

  it("reads rights out of a role, and leaves out those with values of the chart", () => {
    const text = `
kind: Role
metadata: { name: x, namespace: __NAMESPACE__ }
rules:
  - { apiGroups: [""], resources: [pods/eviction], verbs: [create] }
  - { apiGroups: [""], resources: [configmaps], resourceNames: [__NETPERF_NAME__], verbs: [get] }
  - { nonResourceURLs: ["/isochrone/v1/metrics"], verbs: [post] }
`;
    expect(rightsOf(text, installation).map(rightText)).toEqual([
      "create pods/eviction sys",
      "post /isochrone/v1/metrics",
    ]);
  });

  it("asks for every right of the chart's files, of the accounts that are there", async () => {
    const files = readRbacFiles(`${CHART}/files/rbac`, installation);
    expect(files.map(({ file }) => file)).toEqual(expect.arrayContaining(["aggregator", "scheduler-plugin"]));
    const review = ({ spec }: KubernetesObject): Record<string, unknown> => {
      const { verb } = (spec?.["resourceAttributes"] ?? { verb: "get" }) as { verb: string };
      return { allowed: verb === "list" || spec?.["user"] === undefined };
    };
    const store = createMemoryStore({ clock: new ManualClock(), review });
    const question = { store, installation, files, folder: "f", as: null };
    const without = judgeRbac(await lookAtRbac(question));
    expect(severities(without)).toMatchObject({ "service accounts": "skipped" });
    await store.create({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "isochrone-aggregator", namespace: "sys" },
    });
    const verdicts = judgeRbac(await lookAtRbac(question));
    expect(severities(verdicts)).toMatchObject({
      aggregator: "error",
      "aggregator-gates": "info",
      "aggregator-istio-routing": "warning",
      "this command: plan": "ok",
    });
    expect(severities(verdicts)["scheduler-plugin"]).toBeUndefined();
    expect(verdicts.find(({ check }) => check === "aggregator")!.value).toContain("watch nodes");
    expectRemedies(verdicts);
  });

  it("sees definitions that are away, not established, or narrowed", () => {
    const [wanted] = readDefinitions(`${CHART}/crds`)!;
    const { name } = wanted!.metadata;
    const established = { conditions: [{ type: "Established", status: "True" }] };
    const narrowed = JSON.parse(JSON.stringify(wanted)) as KubernetesObject;
    (narrowed.spec!["versions"] as { served: boolean }[])[0]!.served = false;
    const verdictOf = (found: KubernetesObject | null): Verdict =>
      judgeDefinitions([{ name, wanted: wanted!, found }])[0]!;
    expect(verdictOf({ ...wanted!, status: established }).severity).toBe("ok");
    expect(verdictOf(null).value).toBe("not there");
    expect(verdictOf({ ...wanted!, status: {} }).value).toBe("not established");
    expect(verdictOf({ ...narrowed, status: established }).value).toContain("no longer served");
    expect(judgeDefinitions("forbidden")[0]!.severity).toBe("skipped");
  });
});

describe("the graph", () => {
  const node = (name: string): object => ({ name, ready: true, availableCpuMillicores: 1 });
  const link = (source: string, target: string, lossRatio: number): object => ({
    source,
    target,
    method: "icmp",
    costMs: 1,
    lossRatio,
    origin: "measured",
    rttMs: { count: lossRatio === 1 ? 0 : 5 },
  });
  const cluster = {
    version: 3,
    nodes: [node("a"), node("b")],
    links: [link("a", "b", 0), link("b", "a", 1)],
  } as unknown as ClusterGraphSnapshot;
  const facts = { health: null, why: "w", isAssumed: false, server: "http://s" };

  it("tells silent links and mute nodes", () => {
    const verdicts = judgeFreshness({ ...facts, cluster });
    expect(severities(verdicts)).toEqual({
      "graph API": "ok",
      nodes: "ok",
      health: "skipped",
      "graph rules": "ok",
      coverage: "ok",
      "silent links": "error",
      "changed links": "skipped",
      instruments: "warning",
    });
    expect(verdicts.find(({ check }) => check === "silent links")!.value).toBe("b -> a (icmp)");
    expectRemedies(verdicts);
  });

  it("says how many of its parts break the rules, which readers leave out", () => {
    const dropped = { counts: { link: 2 }, first: "cluster graph links[3].lossRatio must be from 0 to 1" };
    const verdicts = judgeFreshness({ ...facts, cluster, dropped });
    expect(verdicts.find(({ check }) => check === "graph rules")).toMatchObject({
      severity: "error",
      value: "2 parts are left out; the first: cluster graph links[3].lossRatio must be from 0 to 1",
    });
  });

  it("is no fault where nobody named it, and one where somebody did", () => {
    expect(judgeFreshness({ ...facts, cluster: null, isAssumed: true })[0]!.severity).toBe("skipped");
    expect(judgeFreshness({ ...facts, cluster: null })[0]!.severity).toBe("error");
  });

  it("judges the sources, and a collector's page", () => {
    const text = [
      "isochrone_collector_targets_up 3",
      'isochrone_collector_targets_failing{kind="kubelet"} 2',
      "isochrone_collector_tls_unverified 1",
    ].join("\n");
    const verdicts = judgeSources({
      cluster,
      workflows: [],
      ambiguousNames: null,
      why: "",
      collector: { url: "http://c/metrics", text, error: null },
    });
    expect(severities(verdicts)).toEqual({
      "usage of nodes": "ok",
      "usage of workloads": "skipped",
      traffic: "skipped",
      "collector's targets": "error",
      "collector's rows": "ok",
      "collector's TLS": "warning",
    });
    expectRemedies(verdicts);
  });
});

describe("the extender", () => {
  const NOW_MS = Date.UTC(2026, 0, 1);
  const name = "isochrone_tls_shown_certificate_not_after_seconds";
  const shown = (client: string, days: number): string =>
    `${name}{server="scheduler",client="${client}"} ${NOW_MS / 1_000 + days * 86_400}`;
  const judged = (...lines: readonly string[]): Verdict => {
    const text = [`# HELP ${name} When`, `# TYPE ${name} gauge`, ...lines].join("\n");
    const verdicts = judgeExtender({ url: "https://p/metrics", text, error: null }, NOW_MS);
    expectRemedies(verdicts);
    return verdicts[0]!;
  };

  it("judges when the certificate ends that kube-scheduler shows", () => {
    const of = (days: number): Verdict => judged(shown("isochrone-kube-scheduler-client", days));
    expect(of(31)).toMatchObject({ severity: "ok", value: "ends in 31.0 days" });
    expect(of(29)).toMatchObject({ severity: "warning", value: "ends in 29.0 days" });
    expect(of(-2)).toMatchObject({ severity: "error", value: "ended 2.0 days ago" });
    expect(of(29).remedy).toContain("isochrone scheduler-config");
    const other = shown("isochrone-decisions-client", 3);
    expect(judged(other, shown("any-other-name", 40))).toMatchObject({ severity: "ok" });
  });

  it("finds that kube-scheduler never showed one, whatever the aggregator shows", () => {
    const never = judged(shown("isochrone-decisions-client", 300));
    expect(never).toMatchObject({ severity: "warning" });
    expect(never.value).toContain("kube-scheduler has presented none");
  });

  it("finds an extender that asks for none, one that doesn't answer, and is skipped where none is named", () => {
    const page = { url: "http://p/metrics", text: "process_cpu_seconds_total 1", error: null };
    const [open] = judgeExtender(page, NOW_MS);
    expect(open).toMatchObject({ severity: "warning" });
    expect(open!.value).toContain("requires no certificate");
    expect(judgeExtender({ ...page, text: null, error: "refused" }, NOW_MS)[0]).toMatchObject({
      severity: "error",
      value: "refused",
    });
    expect(judgeExtender(null, NOW_MS)[0]!.severity).toBe("skipped");
  });
});

describe("what is printed", () => {
  it("takes one line for what is fine, and says rule and remedy of what isn't", () => {
    const finding = { group: "node", check: "c", looked: "l", value: "v", rule: "r", remedy: "do" } as const;
    const text = findingsText([
      { ...finding, severity: "ok", remedy: null },
      { ...finding, severity: "error" },
    ]);
    expect(text.split("\n")).toEqual([
      "node",
      "  ok       c: v",
      "  error    c: v",
      "           looked at: l",
      "           rule: r",
      "           remedy: do",
      "",
      "1 ok, 1 error",
    ]);
  });
});
