// Packet authentication keys in a Secret of a real API server, with two replicas that both assume leadership.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type HmacKeySet, KeyKeeper, type KeyStore, SecretKeyStore } from "@isochrone/aggregator/testing";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import type { ApiServerClusterStore } from "@isochrone/kubernetes/testing";
import { Secret, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";

const NAMESPACE = "isochrone";
const SECRET = "isochrone-probe-keys";
const CHECK_MS = 25;
/** Maximum transit time of a signed packet. */
const GRACE_MS = 200;

let cluster: ControlPlane;
const stores: ApiServerClusterStore[] = [];

async function storeOf(name: string): Promise<ApiServerClusterStore> {
  const kubeconfig = await cluster.kubeconfigOf({ serviceAccount: { namespace: NAMESPACE, name } });
  const store = createApiServerStore({
    credentials: { kubeconfig },
    clock: systemClock,
    random: systemRandom,
    logger: new MemoryLogger(),
    requestTimeoutMs: 1_000,
    qps: 1_000,
    burst: 1_000,
  });
  stores.push(store);
  return store;
}

/** Reads keys late, like a mounted Secret, and signs by one replica's plan. */
class Probe {
  readonly node: string;
  readonly #keys: KeyStore;
  readonly #lagMs: number;
  held = new Map<number, string>();
  signing: number | null = null;

  constructor(node: string, keys: KeyStore, lagMs: number) {
    this.node = node;
    this.#keys = keys;
    this.#lagMs = lagMs;
  }

  async follow(plan: () => KeyKeeper, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const set = await this.#keys.read().then(
        (stored) => stored.set,
        () => null,
      );
      await sleep(this.#lagMs);
      if (set !== null) this.held = secretsOf(set);
      const planned = plan();
      if (planned.isReady && this.held.has(planned.signingKeyId)) this.signing = planned.signingKeyId;
    }
  }

  get report() {
    return this.signing === null ? null : { heldKeyIds: [...this.held.keys()], signingKeyId: this.signing };
  }
}

function secretsOf({ keys }: HmacKeySet): Map<number, string> {
  return new Map(keys.map(({ id, secret }) => [id, secret.reveal()]));
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`not within 60 s: ${what}`);
    await sleep(20);
  }
}

const support = controlPlaneSupport();
if (!support.supported) console.warn(`keys in a Secret are not tested: ${support.reason}`);

describe.runIf(support.supported)("probe keys in a Secret of a real API server", () => {
  beforeAll(async () => {
    cluster = await startControlPlane();
    await cluster.createNamespace(NAMESPACE);
    // A namespaced Role can't restrict create to a name.
    await cluster.grant(
      { serviceAccount: { namespace: NAMESPACE, name: "aggregator" } },
      [
        { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
        { apiGroups: [""], resources: ["secrets"], verbs: ["get", "patch"], resourceNames: [SECRET] },
      ],
      NAMESPACE,
    );
  }, 900_000);

  afterAll(async () => {
    for (const store of stores) store.close();
    await cluster?.close();
  });

  test("two replicas race through rotations, the API server restarts in between, and no packet is signed with a key that its receiver lacks", async () => {
    const probes: Probe[] = [];
    const keepers: KeyKeeper[] = [];
    for (let replica = 0; replica < 2; replica++) {
      const store = new SecretKeyStore(await storeOf("aggregator"), NAMESPACE, SECRET);
      keepers.push(
        new KeyKeeper({
          store,
          leadership: { isLeader: () => true },
          clock: systemClock,
          logger: new MemoryLogger(),
          rule: { rotationMs: 300, confirmMs: 60_000, graceMs: GRACE_MS },
          checkMs: CHECK_MS,
          randomBytes,
          probes: () => probes.map(({ node, report }) => ({ node, report })),
        }),
      );
      for (const lagMs of [10, 60]) {
        const keys = new SecretKeyStore(await storeOf("aggregator"), NAMESPACE, SECRET);
        probes.push(new Probe(`node-${probes.length}`, keys, lagMs));
      }
    }
    const stop = new AbortController();
    const lost: string[] = [];
    let packets = 0;
    const sending = (async () => {
      while (!stop.signal.aborted) {
        for (const from of probes) {
          const { signing } = from;
          const secret = signing === null ? undefined : from.held.get(signing);
          if (secret === undefined) continue;
          // The packet arrives within the grace time.
          setTimeout(() => {
            for (const to of probes) {
              packets += 1;
              if (to.held.size > 0 && to.held.get(signing!) !== secret)
                lost.push(`${from.node} ${to.node} ${signing}`);
            }
          }, GRACE_MS / 4);
        }
        await sleep(10);
      }
    })();
    await Promise.all(keepers.map((keeper) => keeper.start()));
    const following = probes.map((probe, index) => probe.follow(() => keepers[index % 2]!, stop.signal));
    const rotations = (): number => keepers.reduce((sum, { counts }) => sum + counts.rotations, 0);
    try {
      await until("the first rotations", () => rotations() >= 3);
      await until("a rotation is under way", () => keepers.some(({ keys }) => keys > 1));
      const before = rotations();
      await cluster.restartApiServer();
      await until("rotations after the restart", () => rotations() >= before + 3);
      const middle = rotations();
      await cluster.kill("api-server");
      await cluster.startApiServer();
      await until("rotations after a kill", () => rotations() >= middle + 3);
    } finally {
      stop.abort();
      await Promise.all([sending, ...following, ...keepers.map((keeper) => keeper.stop())]);
    }
    const counts = (name: "conflicts" | "unconfirmed"): number =>
      keepers.reduce((sum, keeper) => sum + keeper.counts[name], 0);
    expect(packets).toBeGreaterThan(1_000);
    expect(lost).toEqual([]);
    expect(counts("unconfirmed")).toBe(0);
    // The replicas raced: each conflict is a step lost to the other replica, and no step was undone.
    expect(counts("conflicts")).toBeGreaterThan(0);
  });

  test("what else stands in the Secret stays, and no key stands in its metadata", async () => {
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/${SECRET}`;
    await cluster.request("PATCH", path, { data: { other: Buffer.from("mine").toString("base64") } });
    const store = new SecretKeyStore(await storeOf("aggregator"), NAMESPACE, SECRET);
    const { set, revision } = await store.read();
    const secret = new Secret(randomBytes(32).toString("base64"));
    const more = (id: number) => ({ ...set!, keys: [...set!.keys, { id, createdAtMs: 0, secret }] });
    await store.write(more(40_001), revision);
    await expect(store.write(more(40_002), revision)).rejects.toMatchObject({ code: "key_store_conflict" });
    const stored = await cluster.request<{ data: Record<string, string>; metadata: object }>("GET", path);
    expect(Buffer.from(stored.data["other"]!, "base64").toString()).toBe("mine");
    for (const key of secretsOf(set!).values()) expect(JSON.stringify(stored.metadata)).not.toContain(key);
  });
});
