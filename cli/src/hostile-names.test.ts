// Names with terminal control sequences, through every command that prints them.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { tmpdir } from "node:os";
import type { EndToEnd } from "@isochrone/lab";
import type { ClusterGraphSnapshot, Decision, WorkflowGraphSnapshot } from "@isochrone/topology";
import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { findingsText } from "./commands/doctor.ts";
import { explainCommand } from "./commands/explain.ts";
import { graphCommand } from "./commands/graph.ts";
import { reportText } from "./commands/plan.ts";
import { scoreCommand } from "./commands/score.ts";
import { formatted } from "./output/format.ts";
import { createProgress } from "./output/progress.ts";
import { lineReporter } from "./output/reporters.ts";
import { screenReporter } from "./output/screen-reporter.ts";
import { viewOf, watchView } from "./output/show.ts";
import { terminalOn } from "./output/terminal.ts";

const EVIL = `${"\u001b]0;owned\u0007".repeat(8)}\u001b[2J${"\u001b]52;c;eA==\u0007".repeat(7)}\u0007\nnode forged\r\u009b31m\u202e\u200b`;
// eslint-disable-next-line no-control-regex
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202e]/;
// eslint-disable-next-line no-control-regex
const OURS = /\u001b\[(H|K|J|0J|\d+A)|\r\u001b\[K|^\r/g;
const AT = "2026-01-01T00:00:00.000Z";

const NODE = {
  zone: EVIL,
  region: EVIL,
  segment: null,
  ready: true,
  cordoned: false,
  allocatableCpuMillicores: 4_000,
  allocatableMemoryBytes: 8e9,
  availableCpuMillicores: 2_000,
  availableMemoryBytes: 4e9,
  coordinate: null,
  usageAgeSeconds: 1,
};
const CLUSTER: ClusterGraphSnapshot = {
  version: 1,
  observedAt: AT,
  windowSeconds: 30,
  nodes: [{ ...NODE, name: `n1${EVIL}` }],
  links: [],
};
const NO_REQUESTS: EndToEnd = {
  count: 0,
  errors: 0,
  p10Ms: null,
  p50Ms: null,
  p50RangeMs: null,
  p95RangeMs: null,
  p90Ms: null,
  p95Ms: null,
  requestsPerSecond: 0,
  sendLateMs: null,
  failure: null,
};
const WORKFLOW: WorkflowGraphSnapshot = {
  version: 1,
  observedAt: AT,
  namespace: "shop",
  name: `flow${EVIL}`,
  workloads: [
    {
      name: `web${EVIL}`,
      kind: "Deployment",
      namespace: "shop",
      cpuMillicores: 1,
      memoryBytes: 1,
      pods: [{ name: "p", node: `n1${EVIL}` }],
    },
  ],
  channels: [],
};
const DECISION: Decision = {
  id: "d",
  at: AT,
  pod: { namespace: "shop", name: `web${EVIL}` },
  workflow: `shop/flow${EVIL}`,
  workload: EVIL,
  strategy: EVIL,
  mode: "raw",
  inputs: { clusterVersion: 1, clusterAgeSeconds: 1, workflowVersion: null, workflowAgeSeconds: null },
  explanation: [`because of ${EVIL}`],
  best: EVIL,
  candidates: [{ name: EVIL, feasible: false, reason: EVIL, raw: 1, score: 1, parts: { [EVIL]: 1 } }],
};

const DEMANDED = {
  zone: `west${EVIL}`,
  requestsPerSecond: 1,
  errorRatio: null,
  inTimeRatio: null,
  latencyMs: { p50: 1, p90: 1, p99: 1 },
  ageSeconds: 1,
};

async function serving(): Promise<string> {
  const { version, observedAt, namespace, name } = WORKFLOW;
  const listed = { namespace, name, workloads: 1, channels: 0, pods: 1 };
  const answers: Readonly<Record<string, unknown>> = {
    "/api/v1/graph/cluster": CLUSTER,
    "/api/v1/graph/workflows": { version, observedAt, workflows: [listed] },
    "/api/v1/graph/demand": {
      version,
      observedAt,
      windowSeconds: 30,
      services: [{ namespace, name: `web${EVIL}`, deadlineMs: null, zones: [DEMANDED] }],
    },
    "/api/v1/decisions": { decisions: [DECISION] },
  };
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://x").pathname;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answers[path] ?? WORKFLOW));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function shown(command: (print: (text: string) => void) => Promise<void>): Promise<string> {
  let text = "";
  const terminal = terminalOn({ write: (part) => (text += part) }, { write: (part) => (text += part) });
  await command(terminal.print);
  return text;
}

const isForged = (text: string): boolean => /^node forged/m.test(text);

describe("names of others on a terminal", () => {
  test.each(["table", "dot"] as const)("isochrone graph -o %s shows them escaped", async (output) => {
    const server = await serving();
    const text = await shown((print) => graphCommand({ server, output }, print));
    expect(text).toContain("u{1b}]0;owned");
    expect(text).not.toMatch(RAW);
    expect(isForged(text)).toBe(false);
  });

  test.each(["json", "yaml"] as const)(
    "isochrone graph -o %s escapes them and says the same",
    async (output) => {
      const server = await serving();
      const text = await shown((print) => graphCommand({ server, output }, print));
      expect(text).not.toMatch(RAW);
      const value = (output === "json" ? JSON.parse(text) : parse(text)) as { cluster: unknown };
      expect(value.cluster).toMatchObject(CLUSTER);
    },
  );

  test("isochrone explain", async () => {
    const server = await serving();
    const options = { server, namespace: "shop", output: "table" } as const;
    const text = await shown((print) => explainCommand(DECISION.pod.name, options, print));
    expect(text).toContain("u{1b}]0;owned");
    expect(text).not.toMatch(RAW);
    expect(isForged(text)).toBe(false);
  });

  test("isochrone plan and doctor", async () => {
    const known = { latency: 1, perMonth: 1, unpricedBytesPerSecond: 0 };
    const cost = { network: 1, pressure: 0, total: 1, ...known };
    const move = {
      pod: EVIL,
      workload: EVIL,
      from: EVIL,
      to: EVIL,
      step: 1,
      gainError: 0,
      gain: 1,
      obstacle: EVIL,
    };
    const kept = [{ pod: EVIL, reason: EVIL }];
    const report = {
      workflow: EVIL,
      pods: 1,
      today: cost,
      best: cost,
      currency: "USD",
      savedRatio: 0.5,
      gain: 1,
      gainError: 0,
      perRequest: { todayMs: 2, bestMs: 1, errorMs: 0 },
      moves: [move],
      kept,
      notes: [EVIL],
    };
    const finding = {
      group: "sources",
      check: EVIL,
      severity: "error",
      looked: EVIL,
      value: EVIL,
      rule: EVIL,
      remedy: EVIL,
    } as const;
    const text = await shown(async (print) => {
      print(viewOf(report, { text: reportText }).text());
      print(formatted("table", [finding], findingsText));
    });
    expect(text).toContain("u{1b}]0;owned");
    expect(text).not.toMatch(RAW);
    expect(isForged(text)).toBe(false);
  });

  test("isochrone score", async () => {
    const folder = mkdtempSync(join(tmpdir(), "isochrone-names-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const cluster = join(folder, "dump.json");
    const node = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: `n1${EVIL}` },
      status: { allocatable: { cpu: "4", memory: "8Gi", pods: "10" }, conditions: [] },
    };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "default" }, spec: {} };
    writeFileSync(cluster, JSON.stringify({ apiVersion: "v1", kind: "List", items: [node, pod] }));
    const options = { cluster, pod: "default/p", strategy: "resource-network", output: "table" } as const;
    const text = await shown((print) => scoreCommand(options, print));
    expect(text).toContain("n1\\u{1b}]0;owned");
    expect(text).not.toMatch(RAW);
    expect(isForged(text)).toBe(false);
  });

  test("a watch on a terminal moves the cursor by itself alone", async () => {
    let text = "";
    const ended = new AbortController();
    const clock = new ManualClock();
    const done = watchView(
      async () => viewOf({ name: EVIL }, { text: ({ name }) => name }),
      { output: "table", watch: 1_000 },
      {
        screen: { isTTY: true, write: (part) => (text += part) },
        clock,
        signal: ended.signal,
        note: () => undefined,
      },
    );
    await clock.advance(1);
    ended.abort();
    await clock.advance(1_000);
    await done;
    expect(text).toContain("u{1b}]0;owned");
    expect(text.replaceAll(OURS, "")).not.toMatch(RAW);
  });

  test("isochrone up and bars of progress", () => {
    let text = "";
    const screen = { isTTY: true, write: (part: string) => (text += part) };
    const outcomes = ["moved", "failed", "moving"] as const;
    const pods = outcomes.flatMap((outcome) =>
      [EVIL, null].map((to) => ({ workload: EVIL, from: `n1${EVIL}`, to, target: EVIL, outcome })),
    );
    for (const reporter of [lineReporter(screen), screenReporter(screen, () => "12:00:00")]) {
      reporter.networkDown(EVIL);
      reporter.moved({ pods, reasons: [EVIL], before: NO_REQUESTS });
      reporter.table({ graph: CLUSTER, endToEnd: { ...NO_REQUESTS, errors: 1, failure: EVIL }, pods: [] });
    }
    createProgress(screen, () => 0).at(0.5, EVIL);
    expect(text).toContain("u{1b}]0;owned");
    expect(text.replaceAll(OURS, "").replaceAll("\r[", "[")).not.toMatch(RAW);
  });

  test("no command writes past the terminal's writer", () => {
    const sources = readdirSync(new URL(".", import.meta.url), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
      .filter((path) => path !== join("output", "terminal.ts"));
    const past = sources.filter((path) =>
      /console\.|std(out|err)\.write\((?!visible)/.test(
        readFileSync(new URL(path, import.meta.url), "utf8").replaceAll(/write: \(part\)/g, ""),
      ),
    );
    expect(past).toEqual([]);
  });
});
