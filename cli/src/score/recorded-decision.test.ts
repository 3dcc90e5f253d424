// `score --decision` takes strategy and settings from a decision. test/e2e/offline-scores.test.ts uses a
// running extender's.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createProgram } from "../program.ts";
import { readDecision } from "./recorded-decision.ts";

const folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROFILE = {
  strategy: "resource-network/raw",
  settings: { "resource-network.gamma": 0.2, "resource-network.delta": 0.8 },
  channelPriorities: "",
  usageHeadroom: false,
};
const DECISION = {
  id: "d-1",
  kind: "score",
  pod: { namespace: "shop", name: "p-1" },
  profile: PROFILE,
  inputs: { clusterVersion: 812 },
};

// p sends 1,000 B/s to q on n2, 10 ms from n1. Beside p, 500m is left on n1 and 1 on n2, and no memory.
const node = (name: string, cpu: string, to: string): object => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    annotations: {
      "isochrone.dev/available-cpu": cpu,
      "isochrone.dev/available-memory": "1G",
      [`isochrone.dev/network-cost-${to}`]: "10",
    },
  },
});
const pod = (app: string, spec: object): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `${app}-1`, namespace: "shop", labels: { app } },
  spec,
});
const deployment = (name: string, annotations: object): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "shop", annotations },
  spec: { selector: { matchLabels: { app: name } } },
});
const DUMP = {
  kind: "List",
  items: [
    node("n1", "1", "n2"),
    node("n2", "1500m", "n1"),
    deployment("p", {
      "isochrone.dev/cpu-usage": "500m",
      "isochrone.dev/memory-usage": "1G",
      "isochrone.dev/traffic-q": "1k",
    }),
    deployment("q", {}),
    pod("p", {}),
    pod("q", { nodeName: "n2" }),
  ],
};

function written(name: string, content: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

async function printed(...args: readonly string[]): Promise<string> {
  let text = "";
  const program = createProgram((line) => (text += `${line}\n`));
  for (const command of [program, ...program.commands])
    command.exitOverride().configureOutput({ writeErr: () => undefined });
  await program.parseAsync(["score", "--cluster", written("dump.json", DUMP), ...args], { from: "user" });
  return text;
}

const rawOf = (text: string): number[] =>
  (JSON.parse(text) as { nodes: { raw: number }[] }).nodes.map(({ raw }) => raw);

describe("score --decision", () => {
  test("scores the decision's pod with its strategy, mode and weights", async () => {
    const decision = written("decision.json", DECISION);
    // gamma (alpha cpu % + beta memory %) + delta network:
    // 0.2 (100 + 0) / 2 - 0.8 x 10 x 1,000, and 0.2 (200 + 0) / 2.
    expect(rawOf(await printed("--decision", decision, "-o", "json"))).toEqual([-7_990, 20]);
    // The defaults, 0.5 each, differ from the decision's.
    const defaults = await printed("--pod", "shop/p-1", "--mode", "raw", "-o", "json");
    expect(rawOf(defaults)).toEqual([-4_975, 50]);
  });

  test("reads what `explain --kubeconfig` prints, and says that the graphs are others", async () => {
    const decision = written("decision.json", { pod: { name: "p-1" }, decision: DECISION, trouble: null });
    expect(await printed("--decision", decision)).toContain(
      "The decision was made by cluster graph 812, these scores are by annotations: they may differ.",
    );
  });

  test.each([
    ["--strategy", "network-overhead"],
    ["--set", "gamma=1"],
    ["--mode", "raw"],
  ])("doesn't go with %s", async (option, value) => {
    const decision = written("decision.json", DECISION);
    await expect(printed("--decision", decision, option, value)).rejects.toThrow(
      /cannot be used with option/,
    );
  });

  test("or --pod must say which pod", async () => {
    await expect(printed()).rejects.toThrow(/^--pod must be .* --decision names its own/);
  });
});

describe("a decision that can't be scored by", () => {
  test.each([
    ["nothing", "", "must be what `isochrone explain -o json` prints once, got nothing"],
    ["a plan's", { ...DECISION, kind: "plan", profile: undefined }, 'got a decision of kind "plan" without'],
    [
      "no strategy",
      { ...DECISION, profile: { ...PROFILE, strategy: 7 } },
      "profile.strategy must be text, got 7",
    ],
    ["no numbers", { ...DECISION, profile: { ...PROFILE, settings: { a: "b" } } }, 'by name, got {"a":"b"}'],
    ["no types", { ...DECISION, profile: { ...PROFILE, channelPriorities: [] } }, "must be text, got []"],
  ])("%s is refused, by rule and value", (_, content, message) => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    expect(() => readDecision(text, "decision.json")).toThrow(message);
    expect(() => readDecision(text, "decision.json")).toThrow(/^decision.json: /);
  });
});
