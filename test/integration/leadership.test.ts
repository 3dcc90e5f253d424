// A leader that was paused and resumes performs no more acts.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AGGREGATOR_LEASE } from "@isochrone/aggregator/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";

const NAMESPACE = "isochrone";
const SCRIPT = join(import.meta.dirname, "../harness/leadership/candidate-process.ts");
const LEASE_PATH = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${AGGREGATOR_LEASE}`;
const ROUNDS = 4;
/** Time after the resume for everything already begun. */
const AWAKE_MS = 1_000;

interface Lease {
  readonly spec: { readonly holderIdentity?: string };
}

interface Candidate {
  readonly name: string;
  readonly process: ChildProcess;
  output: string;
}

let cluster: ControlPlane;
let candidates: Candidate[] = [];

async function startCandidate(name: string): Promise<Candidate> {
  const kubeconfig = await cluster.kubeconfigOf({
    serviceAccount: { namespace: NAMESPACE, name: "aggregator" },
  });
  const child = spawn(process.execPath, [SCRIPT], {
    env: { PATH: process.env["PATH"], KUBECONFIG: kubeconfig, NAME: name, NAMESPACE },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const candidate = { name, process: child, output: "" };
  child.stdout.on("data", (chunk: Buffer) => (candidate.output += chunk.toString()));
  while (!candidate.output.includes("started")) {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${candidate.output}`);
    await sleep(50);
  }
  return candidate;
}

async function holder(): Promise<string | null> {
  const lease = await cluster.request<Lease>("GET", LEASE_PATH).catch(() => null);
  return lease?.spec.holderIdentity?.split("_")[0] ?? null;
}

async function untilHolder(isIt: (name: string | null) => boolean): Promise<Candidate> {
  const endMs = performance.now() + 30_000;
  for (;;) {
    const name = await holder();
    if (isIt(name)) return candidates.find((each) => each.name === name)!;
    if (performance.now() > endMs) throw new Error(`the lease is held by ${name}`);
    await sleep(50);
  }
}

async function accepted(name: string, sinceMs: number): Promise<string[]> {
  const events = await cluster.auditEvents(
    ({ userAgent, verb, code, receivedMs }) =>
      userAgent === name && verb !== "get" && code >= 200 && code < 300 && receivedMs >= sinceMs,
  );
  return events.map(({ verb, name: of }) => `${verb} ${of}`);
}

const support = controlPlaneSupport();
if (!support.supported) console.warn(`leadership is not tested: ${support.reason}`);

describe.runIf(support.supported)("two candidates on a real API server", () => {
  beforeAll(async () => {
    cluster = await startControlPlane({ audit: true });
    await cluster.createNamespace(NAMESPACE);
    const account = { serviceAccount: { namespace: NAMESPACE, name: "aggregator" } };
    await cluster.grant(
      account,
      [
        { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "get", "update"] },
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "update", "patch"] },
      ],
      NAMESPACE,
    );
    for (const name of ["by-version", "by-test", "by-fence"])
      await cluster.create([
        { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: NAMESPACE, name } },
      ]);
    candidates = [await startCandidate("first"), await startCandidate("second")];
  }, 900_000);

  afterAll(async () => {
    for (const { process: child } of candidates) {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    await cluster?.close();
  });

  test("the leader is stopped past its lease and woken, again and again: nothing of what it does then is accepted", async () => {
    const late: string[] = [];
    let acts = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const leader = await untilHolder((name) => name !== null);
      // At a random point of its work.
      await sleep(300 + Math.random() * 200);
      leader.process.kill("SIGSTOP");
      const stoppedMs = Date.now();
      const next = await untilHolder((name) => name !== null && name !== leader.name);
      await sleep(Math.random() * 500);
      const wokenMs = Date.now();
      leader.process.kill("SIGCONT");
      await sleep(AWAKE_MS);
      late.push(...(await accepted(leader.name, wokenMs)));
      acts += (await accepted(next.name, stoppedMs)).length;
    }
    expect(late).toEqual([]);
    expect(acts).toBeGreaterThan(ROUNDS * 10);
    // Acts were queued when the process stopped and would have been sent.
    expect(candidates.map(({ output }) => output).join("")).toContain("fenced");
  });

  test("no two act at one time, by the audit log", async () => {
    const events = await cluster.auditEvents(
      ({ userAgent, verb, code }) =>
        /^(first|second)$/.test(userAgent) && verb !== "get" && code >= 200 && code < 300,
    );
    const turns = events
      .toSorted((a, b) => a.receivedMs - b.receivedMs)
      .map(({ userAgent }) => userAgent)
      .filter((agent, index, all) => agent !== all[index - 1]);
    // One turn per round plus the initial one: no stopped leader returns in between.
    expect(turns.length).toBe(ROUNDS + 1);
  });

  test("while the API server is away nobody leads, and one does when it is back", async () => {
    await cluster.stopApiServer();
    await sleep(2_500);
    await cluster.startApiServer();
    const sinceMs = Date.now();
    const leader = await untilHolder((name) => name !== null);
    await sleep(1_000);
    expect((await accepted(leader.name, sinceMs)).length).toBeGreaterThan(0);
  });
});
