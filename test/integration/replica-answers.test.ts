// Graph API, `isochrone explain` and the MCP server agree for each replica, also after a leader's death.
import { startAggregator } from "@isochrone/aggregator/testing";
import { createProgram } from "@isochrone/cli/testing";
import { KINDS } from "@isochrone/kubernetes";
import type { Decision, DecisionList } from "@isochrone/topology";
import { spawn, type ChildProcess } from "node:child_process";
import { networkInterfaces } from "node:os";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  Installation,
  installRules,
  MANIFEST_VALUES,
  type ComponentProcess,
} from "../harness/components/index.ts";
import { controlPlaneSupport, nodeNameOf, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { clusterGraph, COMMAND, startGraphApi, type GraphApi } from "../harness/extender.ts";
import { boundPods, gated, SHOP_NODES, shopGraphs } from "../harness/planner.ts";
import { PLANNER_COMPONENTS } from "../harness/planner-testbed.ts";

const { NAMESPACE, NAME } = MANIFEST_VALUES;
const SERVICE = `${NAME}-scheduler-plugin`;
const RULES = ["", "-planner", "-replicas", "-service"].map((rule) => `scheduler-plugin${rule}`);
const SHOP = "shop";
const WORKLOADS = ["web", "api", "db"];
const NAMES = ["plugin-0", "plugin-1"];
const LEASES = { leaseDurationMs: 8_000, leaseRenewDeadlineMs: 6_000, leaseRetryPeriodMs: 500 };
const WITHIN = { timeout: 90_000, interval: 500 };
const LIMIT = 100;

interface Plan {
  readonly workflow: string;
  readonly replica?: string;
  readonly pods: readonly { readonly name: string; readonly node: string | null; readonly from?: string }[];
}

interface PlanList {
  readonly plans: readonly Plan[];
  readonly incomplete?: readonly string[];
}

interface Answers {
  readonly decisions: DecisionList;
  readonly plans: PlanList;
  readonly proposals: PlanList;
  readonly explained: readonly unknown[];
  readonly toldByMcp: readonly unknown[];
  readonly plansOfMcp: unknown;
}

const KEYS = ["decisions", "plans", "proposals", "explained", "toldByMcp", "plansOfMcp"] as const;

const support = controlPlaneSupport(PLANNER_COMPONENTS);
if (!support.supported) console.warn(`answers of replicas are not compared: ${support.reason}`);

describe.runIf(support.supported)("two replicas of the scheduler-plugin", { timeout: 300_000 }, () => {
  let cluster: ControlPlane;
  let installation: Installation;
  let graphs: GraphApi;
  let plugins: ComponentProcess[];
  let sides: readonly Side[];
  let pods: readonly string[];
  let saying: NodeJS.Timeout | undefined;
  let isSlow = false;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: PLANNER_COMPONENTS });
    await installRules(cluster, RULES);
    await cluster.addNodes(SHOP_NODES);
    await cluster.createNamespace(SHOP);
    installation = new Installation(cluster);
    graphs = await startGraphApi();
    await sayGraphs();
    saying = setInterval(() => void sayGraphs().catch(() => undefined), 500);
    plugins = await Promise.all(
      NAMES.map((name) =>
        installation.component("scheduler-plugin", name, {
          scheduler: {
            ...LEASES,
            host: "0.0.0.0",
            access: "none",
            graphUrl: graphs.url,
            refreshMs: 200,
            podEvents: false,
            replicaName: name,
            serviceName: SERVICE,
          },
          planner: { enabled: true, proposalsIntervalMs: 2_000 },
        }),
      ),
    );
    await Promise.all(plugins.map((plugin) => plugin.start()));
    await Promise.all(plugins.map(list));
    sides = await Promise.all(plugins.map((plugin) => Side.start(plugin.url)));
    for (const workload of WORKLOADS)
      // One pod fills a node.
      await cluster.createWorkload(workload, gated(SHOP, workload, "3"));
    const bound = await boundPods(cluster, SHOP, WORKLOADS.length);
    const asked = await cluster.createPods(["asked-0", "asked-1"], {
      ...gated(SHOP, "web", "50m", []),
      schedulerName: "nobody",
    });
    for (const [index, Pod] of asked.entries()) await prioritize(plugins[index]!, Pod);
    pods = [...bound.keys(), "asked-0", "asked-1"];
    isSlow = true;
    await sayGraphs();
  }, 900_000);

  afterAll(async () => {
    clearInterval(saying);
    await Promise.all((sides ?? []).map((side) => side.stop()));
    await installation?.close();
    await graphs?.close();
    await cluster?.close();
  });

  async function sayGraphs(): Promise<void> {
    const { cluster: usual, workflow } = shopGraphs(SHOP);
    const bound = (await cluster.list("pods", { namespace: SHOP })).filter((pod) => nodeNameOf(pod) !== null);
    const isUsed = (node: string): boolean => bound.some((pod) => zoneOf(nodeNameOf(pod)!) === zoneOf(node));
    const slow = clusterGraph(SHOP_NODES, (a, b) => {
      if (zoneOf(a) !== zoneOf(b)) return 80;
      return isUsed(a) ? 60 : 1;
    });
    const workloads = workflow.workloads.map((workload) => ({
      ...workload,
      pods: bound
        .filter(({ metadata }) => metadata.labels?.["app"] === workload.name)
        .map((pod) => ({ name: pod.metadata.name, node: nodeNameOf(pod) })),
    }));
    graphs.say({ cluster: isSlow ? slow : usual, workflow: { ...workflow, workloads } });
  }

  const slice = (name: string) => ({ ...KINDS.endpointSlice, namespace: NAMESPACE, name });

  /** Writes an EndpointSlice like its controller. The API server rejects loopback addresses there. */
  async function list({ name, url }: ComponentProcess): Promise<void> {
    const { address } = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ internal, family }) => !internal && family === "IPv4")!;
    await cluster.create({
      ...KINDS.endpointSlice,
      metadata: { namespace: NAMESPACE, name, labels: { "kubernetes.io/service-name": SERVICE } },
      addressType: "IPv4",
      endpoints: [{ addresses: [address], conditions: { ready: true }, targetRef: { kind: "Pod", name } }],
      ports: [{ name: "extender", port: Number(new URL(url).port), protocol: "TCP" }],
    });
  }

  /** Returns responses once all pods have a decision, plans and proposals exist, and all replicas respond. */
  async function complete(of: readonly Side[]): Promise<Answers[]> {
    let answers: Answers[] = [];
    await expect
      .poll(async () => {
        const said = await Promise.all(of.map((side) => side.answers(pods)));
        answers = said.map(comparable);
        const [first] = answers;
        return said.map((each, index) => ({
          incomplete: [each.decisions, each.plans, each.proposals].flatMap(
            ({ incomplete = [] }) => incomplete,
          ),
          decided: pods.filter((pod) => each.decisions.decisions.some((known) => known.pod.name === pod))
            .length,
          hasPlans: each.plans.plans.length > 0,
          hasMoves: each.proposals.plans.some((plan) => plan.pods.length > 0),
          different: KEYS.filter((key) => !isDeepStrictEqual(answers[index]![key], first![key])),
        }));
      }, WITHIN)
      .toEqual(
        of.map(() => ({
          incomplete: [],
          decided: pods.length,
          hasPlans: true,
          hasMoves: true,
          different: [],
        })),
      );
    return answers;
  }

  const leads = async (plugin: ComponentProcess): Promise<boolean> =>
    plugin.pid !== null &&
    ((await (await plugin.get("/api/v1/replica-records")).json()) as { leads: boolean }).leads;

  test("give the same answers, also after the leader was killed and is back", async () => {
    const [first, second] = await complete(sides);
    // Explanations of two pods come from different replicas and name them.
    const deciders = (of: DecisionList): (string | undefined)[] =>
      NAMES.map((_, index) => of.decisions.find(({ pod }) => pod.name === `asked-${index}`)?.replica);
    expect(deciders(first!.decisions)).toEqual(NAMES);
    expect(second).toEqual(first);
    for (const [index, pod] of pods.entries()) {
      const decision = first!.decisions.decisions.find((each) => each.pod.name === pod)!;
      expect(first!.explained[index]).toMatchObject({ id: decision.id, explanation: decision.explanation });
      expect(first!.toldByMcp[index]).toEqual(first!.explained[index]);
    }
    expect(first!.plansOfMcp).toEqual(first!.proposals);

    const states = await Promise.all(plugins.map(leads));
    expect(states.filter(Boolean)).toHaveLength(1);
    const at = states.indexOf(true);
    const [leader, other] = [plugins[at]!, sides[1 - at]!];
    expect(first!.proposals.plans.map(({ replica }) => replica)).toEqual([leader.name]);
    await leader.kill();
    const alone = await other.answers(pods);
    expect(alone.decisions.incomplete).toEqual([leader.name]);
    expect(alone.decisions.decisions).toEqual(first!.decisions.decisions);
    await cluster.remove(slice(leader.name));
    await expect.poll(() => leads(plugins[1 - at]!), WITHIN).toBe(true);
    await expect
      .poll(async () => (await other.proposals()).plans.map(({ replica }) => replica), WITHIN)
      .toEqual([plugins[1 - at]!.name]);
    const [after] = await complete([other]);
    expect(decided(after!)).toEqual(decided(first!));
    expect(movesOf(after!)).toEqual(movesOf(first!));

    await leader.start();
    await list(leader);
    const [again, same] = await complete(sides);
    expect(same).toEqual(again);
    expect(decided(again!)).toEqual(decided(first!));
    expect(movesOf(again!)).toEqual(movesOf(first!));
  });
});

/** Decisions with their replica and time, without the scorer's current values. */
const decided = ({ decisions, plans, explained, toldByMcp }: Answers): unknown => ({
  decisions,
  plans,
  explained,
  toldByMcp,
});
const movesOf = ({ proposals }: Answers): unknown =>
  proposals.plans.map(({ workflow, pods }) => [
    workflow,
    pods.map(({ name, from, node }) => [name, from, node]),
  ]);

function comparable(answers: Answers): Answers {
  const left = ["now", "incomplete"];
  const text = JSON.stringify(answers, (key, value: unknown) => (left.includes(key) ? undefined : value));
  return JSON.parse(text) as Answers;
}

function zoneOf(node: string): string {
  return SHOP_NODES.find(({ name }) => name === node)!.zone!;
}

async function prioritize({ url }: ComponentProcess, Pod: unknown): Promise<void> {
  const answer = await fetch(`${url}/scheduler/prioritize`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ Pod, NodeNames: SHOP_NODES.map(({ name }) => name) }),
  });
  expect(answer.status).toBe(200);
}

class Side {
  readonly #aggregator: Awaited<ReturnType<typeof startAggregator>>;
  readonly #mcp: McpServer;

  static async start(decisionsUrl: string): Promise<Side> {
    const aggregator = await startAggregator({ settings: { decisionsUrl } });
    return new Side(aggregator, await McpServer.start(aggregator.aggregator.address().url));
  }

  private constructor(aggregator: Awaited<ReturnType<typeof startAggregator>>, mcp: McpServer) {
    this.#aggregator = aggregator;
    this.#mcp = mcp;
  }

  async answers(pods: readonly string[]): Promise<Answers> {
    const namespace = SHOP;
    const toldByMcp = [];
    const explained = [];
    for (const pod of pods) {
      explained.push(await this.#explained(pod).catch(() => null));
      toldByMcp.push(await this.#mcp.call("explain", { namespace, pod }));
    }
    return {
      decisions: await this.#get<DecisionList>(`/api/v1/decisions?namespace=${SHOP}&limit=${LIMIT}`),
      plans: await this.#get<PlanList>(`/api/v1/plans?kind=plan&namespace=${SHOP}&limit=${LIMIT}`),
      proposals: await this.proposals(),
      explained,
      toldByMcp,
      plansOfMcp: await this.#mcp.call("plan", { namespace }),
    };
  }

  proposals(): Promise<PlanList> {
    return this.#get(`/api/v1/plans?kind=proposal&namespace=${SHOP}&limit=${LIMIT}`);
  }

  async stop(): Promise<void> {
    this.#mcp.stop();
    await this.#aggregator.stop();
  }

  async #explained(pod: string): Promise<Decision> {
    const lines: string[] = [];
    const args = ["explain", pod, "--namespace", SHOP, "--server", this.#url, "-o", "json"];
    await createProgram((text) => lines.push(text)).parseAsync(args, { from: "user" });
    return JSON.parse(lines.join("\n")) as Decision;
  }

  async #get<T>(path: string): Promise<T> {
    return (await (await fetch(this.#url + path)).json()) as T;
  }

  get #url(): string {
    return this.#aggregator.aggregator.address().url;
  }
}

class McpServer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: { readonly result?: unknown }) => void>();
  #id = 0;

  static async start(server: string): Promise<McpServer> {
    const started = new McpServer(
      spawn(process.execPath, [COMMAND, "mcp", "--server", server], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    const clientInfo = { name: "test", version: "1" };
    await started.#ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    started.#send({ method: "notifications/initialized" });
    return started;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    createInterface({ input: child.stdout! }).on("line", (line) => {
      const answer = JSON.parse(line) as { readonly id?: number; readonly result?: unknown };
      this.#waiting.get(answer.id ?? -1)?.(answer);
    });
  }

  /** Null: an error. */
  async call(name: string, input: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { result } = await this.#ask("tools/call", { name, arguments: input });
    const { content, isError = false } = result as {
      readonly content: readonly { readonly text: string }[];
      readonly isError?: boolean;
    };
    return isError ? null : (JSON.parse(content[0]!.text) as unknown);
  }

  stop(): void {
    this.#child.stdin!.end();
  }

  #ask(method: string, params: unknown): Promise<{ readonly result?: unknown }> {
    const id = ++this.#id;
    this.#send({ id, method, params });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  #send(message: object): void {
    this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
}
