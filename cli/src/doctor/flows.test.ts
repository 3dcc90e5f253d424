import type { KernelParts } from "@isochrone/network-manager";
import type { StreamsSnapshot } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import type { Verdict } from "./finding.ts";
import { judgeFlows } from "./flows.ts";

const MACHINE: KernelParts = {
  parts: ["HTB queues", "nftables", "policy routing"].map((part) => ({ part, obstacle: null })),
  foreignQdiscs: [],
};
const PAGE = {
  node: "n1",
  mode: "shape",
  reason: null,
  plan: { ageSeconds: 0.4 },
  pendingChanges: 0,
  complaints: [],
  foreignQdiscs: [],
  flows: [{ id: "site/gate/a->b", unmet: null }],
  devices: [{ name: "eth0", mtu: 1500 }],
};
const JOB: StreamsSnapshot["jobs"][number] = {
  namespace: "site",
  name: "gate",
  phase: "Running",
  framesPerSecond: 5,
  measuredFramesPerSecond: 4.9,
  minThroughput: 4,
  limit: null,
  waits: null,
  tasks: [],
  flows: [],
};

interface Given {
  readonly platform?: string;
  readonly machine?: KernelParts;
  readonly page?: object | null;
  readonly error?: string;
  readonly jobs?: StreamsSnapshot["jobs"] | null;
}

function judge({ platform = "linux", machine = MACHINE, page = PAGE, error, jobs = [JOB] }: Given = {}) {
  const verdicts = judgeFlows({
    platform,
    machine,
    manager: page === null ? null : { url: "http://n1:7414/api/v1/flows", json: page, error: error ?? null },
    streams: jobs === null ? null : { observedAt: "2026-01-01T00:00:00Z", jobs: [...jobs], links: [] },
    why: "no server is named",
  });
  const bad = verdicts.filter(({ severity }) => severity === "warning" || severity === "error");
  expect(bad.filter(({ remedy }) => remedy === null)).toEqual([]);
  expect(verdicts.filter(({ value }) => value === "")).toEqual([]);
  return {
    severities: Object.fromEntries(verdicts.map(({ check, severity }) => [check, severity])),
    of: (name: string): Verdict => verdicts.find(({ check }) => check === name)!,
  };
}

test("is content with a node on which all is as planned", () => {
  expect(judge().severities).toEqual({
    "kernel parts": "ok",
    "root qdiscs": "ok",
    "network manager": "ok",
    "flow plan": "ok",
    drift: "ok",
    "foreign qdiscs": "ok",
    flows: "ok",
    MTU: "ok",
    "stream jobs": "ok",
  });
});

describe("this machine", () => {
  test("lacks parts of the kernel, which matters on nodes alone", () => {
    const [htb, ...others] = MACHINE.parts;
    const missing = { ...htb!, obstacle: "tc: Error: Specified qdisc kind is unknown." };
    const { of } = judge({ machine: { parts: [missing, ...others], foreignQdiscs: ["eth0: fq 8001:"] } });
    expect(of("kernel parts")).toMatchObject({
      severity: "info",
      value: "missing: HTB queues (tc: Error: Specified qdisc kind is unknown.)",
      remedy: expect.stringContaining("modprobe -a sch_htb vxlan"),
    });
    expect(of("root qdiscs")).toMatchObject({ severity: "info", value: "eth0: fq 8001:" });
  });

  test("isn't Linux, or has no tc", () => {
    expect(judge({ platform: "darwin" }).severities).toMatchObject({ "kernel parts": "skipped" });
    expect(judge({ machine: { ...MACHINE, foreignQdiscs: null } }).severities).toMatchObject({
      "root qdiscs": "skipped",
    });
  });
});

describe("a network manager", () => {
  test("isn't named, or doesn't answer", () => {
    expect(judge({ page: null }).of("network manager")).toMatchObject({
      severity: "skipped",
      remedy: expect.stringContaining("port-forward"),
    });
    expect(judge({ error: "answered with status 403" }).of("network manager").severity).toBe("error");
  });

  test.each([
    ["another one has the lock", true, "error", "two releases"],
    ["a part of the kernel is missing: tc", false, "warning", "tries again after five minutes"],
    ["a manager of an earlier version says no more", undefined, "warning", "tries again after five minutes"],
  ])("that observes because %s", (reason, isSecond, severity, remedy) => {
    expect(
      judge({ page: { ...PAGE, mode: "observe", reason, isSecond } }).of("network manager"),
    ).toMatchObject({
      severity,
      value: `n1: observe, because ${reason}`,
      remedy: expect.stringContaining(remedy),
    });
  });

  test("has an old plan, drift, a foreign qdisc, flows without their rate and unlike MTUs", () => {
    const { severities, of } = judge({
      page: {
        ...PAGE,
        plan: { ageSeconds: 31 },
        pendingChanges: 4,
        complaints: ["nft: Operation not permitted"],
        foreignQdiscs: ["eth1: fq 8001:"],
        flows: [
          { id: "1", unmet: { reason: "foreign_qdisc" } },
          { id: "2", unmet: { reason: "not_forwarding" } },
          { id: "3", unmet: { reason: "not_forwarding" } },
        ],
        devices: [
          { name: "eth0", mtu: 1500 },
          { name: "eth1", mtu: 9000 },
          { name: "lab0", mtu: null },
        ],
      },
    });
    const checks = ["flow plan", "drift", "foreign qdiscs", "flows", "MTU"];
    expect(checks.map((check) => severities[check])).toEqual(checks.map(() => "warning"));
    expect(of("drift").value).toBe("4 changes are missing: nft: Operation not permitted");
    expect(of("flows").value).toBe("of 3: 2 not_forwarding, 1 foreign_qdisc");
    expect(of("flows").remedy).toContain("sysctl -w net.ipv4.ip_forward=1");
    expect(of("MTU").value).toBe("eth0 1500, eth1 9000");
  });

  test("says how long packets may be inside the tunnel to nodes behind routers", () => {
    const { of } = judge({ page: { ...PAGE, tunnel: { device: "isochrone-vx", mtu: 1464 } } });
    expect(of("MTU")).toMatchObject({ severity: "ok", value: "eth0 1500, 1464 inside isochrone-vx" });
  });

  test("that only observes has no drift, and one without a plan says so", () => {
    const { of } = judge({
      page: { ...PAGE, mode: "observe", pendingChanges: 7, plan: { ageSeconds: null } },
    });
    expect(of("drift")).toMatchObject({
      severity: "ok",
      value: "it observes; guarantee would make 7 changes",
    });
    expect(of("flow plan").value).toBe("none was ever confirmed");
  });

  test("of another version, or none at all, breaks nothing", () => {
    expect(judge({ page: [] }).severities).toMatchObject({ "network manager": "warning", flows: "ok" });
  });
});

describe("stream jobs", () => {
  test.each<[string, Partial<typeof JOB>, string]>([
    ["promises are broken of site/gate", { minThroughput: 6 }, "error"],
    ["slower than predicted: site/gate", { measuredFramesPerSecond: 4 }, "warning"],
    ["without nodes: site/gate", { framesPerSecond: null, measuredFramesPerSecond: null }, "info"],
    ["1, as predicted", { measuredFramesPerSecond: null }, "ok"],
  ])("%s", (value, fields, severity) => {
    expect(judge({ jobs: [{ ...JOB, ...fields }] }).of("stream jobs")).toMatchObject({ value, severity });
  });

  test("are not known", () => {
    expect(judge({ jobs: null }).of("stream jobs")).toMatchObject({
      severity: "skipped",
      value: "no server is named",
    });
  });
});
