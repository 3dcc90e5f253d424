import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { candidacy, type ClusterStore, type LeaderElection } from "@isochrone/kubernetes";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { createHttpApp, listen, type HttpApp } from "@isochrone/runtime/http";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { ProbePlan } from "@isochrone/topology";
import type { BandwidthLeaseAnswer } from "@isochrone/topology/testing";
import type { FastifyInstance } from "fastify";
import { MemoryKeyStore } from "./memory-key-store.ts";
import { PodProbeAddresses } from "../adapters/pod-probe-addresses.ts";
import { StoreClusterWatch } from "../adapters/store-cluster-watch.ts";
import { registerBandwidthLeaseRoutes } from "../http/bandwidth-lease-routes.ts";
import { ReportRelay } from "../http/forward-reports.ts";
import { LeaderForward, type ForwardFailure } from "../http/forward.ts";
import { registerProbePlanRoute } from "../http/probe-plan-route.ts";
import { AGGREGATOR_LEASE, deskAfterElection } from "../replication/leadership.ts";
import { Probing } from "../probing/probing.ts";
import { aggregatorSettings } from "../settings.ts";
import { fill, nodeObject, podObject } from "./cluster.ts";

const NAMESPACE = "isochrone";

export const BANDWIDTH_LEASE_MS = 30_000;
export const NODES: readonly string[] = ["n0", "n1", "n2", "n3"];

export class ReplicaWorld {
  readonly clock = new ManualClock();
  readonly store: ClusterStore = createMemoryStore({ clock: this.clock });
  readonly keyStore = new MemoryKeyStore();
  readonly logger = new MemoryLogger({ clock: this.clock });
  readonly #replicas: TestReplica[] = [];

  async fill(): Promise<void> {
    for (const [index, name] of NODES.entries()) {
      const labels = { "app.kubernetes.io/name": "isochrone-probe" };
      const pod = podObject("isochrone", `probe-${name}`, name, { labels, ip: `10.0.0.${index + 1}` });
      await fill(this.store, [nodeObject(name, `z${index}`), pod]);
    }
  }

  async join(name: string): Promise<TestReplica> {
    const replica = new TestReplica(name, this);
    this.#replicas.push(replica);
    await replica.start();
    return replica;
  }

  /** Starts three replicas; the first leads and may grant leases. */
  async joinThree(): Promise<[TestReplica, TestReplica, TestReplica]> {
    const a = await this.join("a");
    await this.clock.advance(100);
    const b = await this.join("b");
    const c = await this.join("c");
    await this.clock.advance(BANDWIDTH_LEASE_MS);
    return [a, b, c];
  }

  async stop(): Promise<void> {
    const stopped = Promise.all(this.#replicas.map((replica) => replica.stop()));
    for (let step = 0; step < 20; step++) await this.clock.advance(1_000);
    await stopped;
  }
}

interface LeaseReply {
  readonly status: number;
  readonly retryAfter: unknown;
  readonly cacheControl: unknown;
  readonly body: BandwidthLeaseAnswer & { code?: string };
}

/** The leader-dependent parts of an aggregator on a real socket. */
export class TestReplica {
  readonly leadership: LeaderElection;
  readonly probing: Probing;
  readonly relay: ReportRelay;
  readonly forward: LeaderForward;
  readonly failures: ForwardFailure[] = [];
  readonly #watch: StoreClusterWatch;
  readonly #logger: MemoryLogger;
  #app: HttpApp | null = null;
  #url: string | null = null;
  #isCut = false;

  constructor(name: string, { store, clock, keyStore, logger }: ReplicaWorld) {
    this.#logger = logger;
    const surroundings = {
      store: this.#around(store),
      clock,
      random: seededRandom(name.charCodeAt(0)),
      logger,
    };
    const { aggregator: config } = loadSettings([aggregatorSettings], {
      env: {},
      file: {
        aggregator: {
          bandwidthLeaseMs: BANDWIDTH_LEASE_MS,
          keyRotationMs: 60_000,
          keyCheckMs: 1000,
          keyGraceMs: 2000,
        },
      },
    });
    this.#watch = new StoreClusterWatch(surroundings);
    const addresses = new PodProbeAddresses({ udpPort: 1, tcpPort: 1, bandwidthPort: 2 }, NAMESPACE);
    this.#watch.onPodChange((change) => addresses.take(change));
    this.leadership = candidacy(
      { ...surroundings, namespace: NAMESPACE, replica: name, url: () => this.#url },
      AGGREGATOR_LEASE,
    );
    this.probing = new Probing({
      ...surroundings,
      config,
      watch: this.#watch,
      addresses,
      leadership: this.leadership,
      keyStore,
      randomBytes: (count) => Buffer.alloc(count, name),
      registry: createRegistry(),
    });
    this.forward = new LeaderForward({
      leadership: this.leadership,
      replica: name,
      clock,
      maxInFlight: 4,
      onFailed: (failure) => this.failures.push(failure),
    });
    this.relay = new ReportRelay({ forward: this.forward, clock, logger });
  }

  async start(): Promise<void> {
    const app = await createHttpApp({
      name: "graph-api",
      logger: this.#logger,
      registry: createRegistry(),
      bodyLimitBytes: 1024 * 1024,
      ready: () => ({ ready: true, reasons: [] }),
      closeDeadlineMs: 50,
    });
    const api = app as unknown as FastifyInstance;
    registerProbePlanRoute(api, this.probing.planSources, { relay: this.relay, forward: this.forward });
    const desk = deskAfterElection(this.probing.leaseDesk, this.leadership, BANDWIDTH_LEASE_MS);
    registerBandwidthLeaseRoutes(api, desk, this.forward);
    this.#app = app;
    await this.#watch.start();
    this.#url = (await listen(app, { host: "127.0.0.1", port: 0 })).url;
    this.leadership.start();
    for (const { service } of this.probing.parts) await service?.start?.();
    await this.relay.start();
  }

  /** Simulates SIGKILL: closes the socket and cuts off the store. */
  async kill(): Promise<void> {
    this.#isCut = true;
    await this.#app?.close();
  }

  async stop(): Promise<void> {
    await this.#app?.close();
    await this.relay.stop();
    for (const { service } of this.probing.parts) await service?.stop?.();
    await this.leadership.stop();
    await this.#watch.stop();
  }

  get app(): HttpApp {
    return this.#app!;
  }

  async askLease(node: string, headers: Readonly<Record<string, string>> = {}): Promise<LeaseReply> {
    const answer = await this.app.inject({
      method: "POST",
      url: "/api/v1/bandwidth-leases",
      headers,
      payload: { node },
    });
    const { "retry-after": retryAfter, "cache-control": cacheControl } = answer.headers;
    const body = answer.json<BandwidthLeaseAnswer & { code?: string }>();
    return { status: answer.statusCode, retryAfter, cacheControl, body };
  }

  async askPlan(node: string, keys: string): Promise<{ readonly status: number; readonly body: ProbePlan }> {
    const headers = { "isochrone-probe-keys": keys };
    const answer = await this.app.inject({ url: `/api/v1/probe-plan/${node}`, headers });
    return { status: answer.statusCode, body: answer.json<ProbePlan>() };
  }

  #around(inner: ClusterStore): ClusterStore {
    const call = async <T>(work: () => Promise<T>): Promise<T> => {
      if (this.#isCut) throw new Error("dead");
      return await work();
    };
    return {
      ...inner,
      get: (ref) => call(() => inner.get(ref)),
      list: (kind, options) => call(() => inner.list(kind, options)),
      create: (object) => call(() => inner.create(object)),
      update: (object) => call(() => inner.update(object)),
      watch: (kind, options) => inner.watch(kind, options),
    };
  }
}
