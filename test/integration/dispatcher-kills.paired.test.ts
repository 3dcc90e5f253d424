// Kills each dispatcher, endpoint and source of endpoint data in turn, under load.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../harness/common/free-port.ts";
import { RestartableProcess } from "../harness/common/restartable-process.ts";
import { Installation, MANIFEST_VALUES, type ComponentProcess } from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { Traffic, type Exchange } from "../harness/dispatch/traffic.ts";
import { Helm, helmSupport } from "../harness/helm/index.ts";

const { NAMESPACE, NAME } = MANIFEST_VALUES;
const COMPONENTS = ["controller-manager"] as const;
const HOST = "127.0.0.1";
const ENDPOINT = fileURLToPath(new URL("../harness/dispatch/endpoint-process.ts", import.meta.url));
const PER_SECOND = 200;
const AWAY_MS = 1_500;
const THREE = [0, 1, 2] as const;
/** An address of this machine, so that packets stay local. EndpointSlices reject loopback addresses. */
const ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
const WITHIN = { timeout: 60_000, interval: 250 };
const missing = [controlPlaneSupport(COMPONENTS), helmSupport()].flatMap((support) =>
  support.supported ? [] : [support.reason],
);
if (ADDRESS === undefined) missing.push("this machine has no address but loopback ones");
if (missing.length > 0) console.warn(`kills under dispatched requests are not tested: ${missing.join("; ")}`);

interface Kill {
  readonly kind: "dispatcher" | "endpoint" | "other";
  readonly index: number;
  readonly beganMs: number;
  readonly goneMs: number;
}

interface Victim {
  readonly kind: Kill["kind"];
  readonly index: number;
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
}

describe.runIf(missing.length === 0)("200 requests a second through three dispatchers", () => {
  let cluster: ControlPlane;
  let installation: Installation;
  const dispatchers: ComponentProcess[] = [];
  const ports: number[] = [];
  const endpoints: RestartableProcess[] = [];
  const journals: string[] = [];
  let aggregator: ComponentProcess;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: COMPONENTS });
    await cluster.createNamespace(NAMESPACE);
    await applyRules();
    await cluster.addNodes(1);
    installation = new Installation(cluster);
    aggregator = await installation.component("aggregator", "aggregator", { annotations: { nodes: false } });
    await aggregator.start();
    await cluster.create({
      ...KINDS.service,
      metadata: {
        namespace: "default",
        name: "web",
        annotations: { "isochrone.dev/dispatch": "dispatcher" },
      },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }] },
    });
    const taken = new Set<number>();
    for (const each of THREE) {
      await addEndpoint(each, await freePort(ADDRESS!, taken));
      ports.push(await freePort(HOST, taken));
      const dispatcher = await installation.component("dispatcher", `dispatcher-${each}`, {
        dispatcher: { port: ports[each]!, aggregatorUrl: aggregator.url },
      });
      dispatchers.push(dispatcher);
    }
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.start()));
  }, 900_000);

  afterAll(async () => {
    await Promise.all(endpoints.map((endpoint) => endpoint.kill()));
    await installation?.close();
    await cluster?.close();
  });

  async function applyRules(): Promise<void> {
    const helm = await Helm.open();
    const rendered = await helm.template({ dispatcher: { enabled: true }, fullnameOverride: NAME });
    await helm.close();
    const names = new Set([`${NAME}-dispatcher`, `${NAME}-aggregator`]);
    for (const object of rendered)
      if (
        names.has(object.metadata.name) &&
        /^(ServiceAccount|ClusterRole|ClusterRoleBinding)$/.test(object.kind)
      )
        await cluster.create(
          JSON.parse(
            JSON.stringify(object).replaceAll('"namespace":"default"', `"namespace":"${NAMESPACE}"`),
          ) as KubernetesObject,
        );
  }

  async function addEndpoint(each: number, port: number): Promise<void> {
    const journal = join(installation.folder, `journal-${each}`);
    journals.push(journal);
    const endpoint = new RestartableProcess({
      name: `endpoint-${each}`,
      command: process.execPath,
      args: [ENDPOINT, ADDRESS!, String(port), journal],
      cwd: installation.folder,
      environment: process.env,
      logPath: join(installation.folder, `endpoint-${each}.log`),
      isReady: (log) => log().includes("ready"),
      startWithinMs: 60_000,
    });
    endpoints.push(endpoint);
    await endpoint.start();
    const pod = { namespace: "default", name: `web-${each}` };
    await cluster.create({
      ...KINDS.pod,
      metadata: { ...pod, labels: { app: "web" } },
      spec: {
        containers: [{ name: "main", image: "none", ports: [{ name: "http", containerPort: port }] }],
        terminationGracePeriodSeconds: 0,
      },
    });
    await cluster.bindAndRun(pod, "node-0");
    await cluster.request("PATCH", `/api/v1/namespaces/default/pods/${pod.name}/status`, {
      status: { podIP: ADDRESS, podIPs: [{ ip: ADDRESS }] },
    });
  }

  async function knows(each: number): Promise<number> {
    const traffic = new Traffic([ports[each]!], "web.default", PER_SECOND);
    await sleep(50);
    await traffic.stop();
    const answer = await dispatchers[each]!.get("/api/v1/dispatch-decisions?limit=1");
    const { decisions } = (await answer.json()) as { decisions: readonly { endpoints: number }[] };
    return decisions[0]?.endpoints ?? 0;
  }

  function victims(): readonly Victim[] {
    const of = (kind: Kill["kind"], list: readonly RestartableProcess[]): Victim[] =>
      list.map((each, index) => ({ kind, index, kill: () => each.kill(), start: () => each.start() }));
    const planes = (["api-server", "etcd", "controller-manager"] as const).map((name, index) => ({
      kind: "other" as const,
      index: index + 1,
      kill: () => cluster.kill(name),
      start: () => cluster.start(name),
    }));
    return [
      ...of("dispatcher", dispatchers),
      ...of("endpoint", endpoints),
      ...of("other", [aggregator]),
      ...planes,
    ];
  }

  async function killInTurn(traffic: Traffic): Promise<readonly Kill[]> {
    const kills: Kill[] = [];
    for (const { kind, index, kill, start } of victims()) {
      const beganMs = performance.now();
      await kill();
      kills.push({ kind, index, beganMs, goneMs: performance.now() });
      await sleep(AWAY_MS);
      if (kind === "dispatcher") traffic.setReady(index, false);
      await start();
      if (kind === "dispatcher") traffic.setReady(index, true);
    }
    await sleep(AWAY_MS);
    return kills;
  }

  test("none is answered twice, and none fails but those in flight at what is killed", async () => {
    for (const each of THREE) await expect.poll(() => knows(each), WITHIN).toBe(THREE.length);
    const before = journals.map((journal) => readFileSync(journal).length);
    const traffic = new Traffic(ports, "web.default", PER_SECOND);
    await sleep(AWAY_MS);
    const kills = await killInTurn(traffic);
    const exchanges = await traffic.stop();
    expect(exchanges.length).toBeGreaterThan(PER_SECOND * kills.length);

    const broken = exchanges.filter(({ status }) => status !== 200);
    const isExcused = (exchange: Exchange): boolean => kills.some((kill) => excuses(kill, exchange));
    expect(broken.filter((exchange) => !isExcused(exchange))).toEqual([]);
    expect(exchanges.filter(({ answers }) => answers > 1)).toEqual([]);

    const lines = journals.flatMap((path, each) =>
      readFileSync(path).subarray(before[each]).toString().trim().split("\n"),
    );
    const begun = countOf(lines, "begun");
    const answered = countOf(lines, "answered");
    const posts = exchanges.filter(({ method }) => method === "POST");
    expect(posts.filter(({ id }) => (begun.get(id) ?? 0) > 1)).toEqual([]);
    // A GET with a lost response is retried at most twice.
    expect(exchanges.filter(({ id }) => (begun.get(id) ?? 0) > 3)).toEqual([]);
    const whole = exchanges.filter(({ status }) => status === 200);
    expect(whole.filter(({ id }) => !answered.has(id))).toEqual([]);
    console.info(
      `${exchanges.length} requests, ${kills.length} kills, ${broken.length} failed in flight: ` +
        kills
          .map((kill) => `${kill.kind} ${kill.index}: ${broken.filter((each) => excuses(kill, each)).length}`)
          .join(", "),
    );
  });
});

/** Only a POST may be lost with an endpoint, because it may have been executed. */
function excuses({ kind, index, beganMs, goneMs }: Kill, exchange: Exchange): boolean {
  if (exchange.beganMs > goneMs || exchange.endedMs < beganMs) return false;
  if (kind === "dispatcher") return exchange.through === index && exchange.status === null;
  return kind === "endpoint" && exchange.method === "POST" && exchange.status === 502;
}

function countOf(lines: readonly string[], word: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const [said, id] = line.split(" ");
    if (said === word && id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}
