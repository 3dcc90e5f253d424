// Rotations of the graph API's certificates and CAs, in seconds. No request is ever rejected.
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { KINDS } from "@isochrone/kubernetes";
import { authorizedFetch, systemClock } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import {
  Installation,
  installPolicies,
  installRules,
  MANIFEST_VALUES,
  type ComponentProcess,
} from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";

const { NAMESPACE, CERTIFICATES_SECRET, TRUST_CONFIG_MAP } = MANIFEST_VALUES;
const SECRET = { ...KINDS.secret, namespace: NAMESPACE, name: CERTIFICATES_SECRET };
const TRUSTED = { ...KINDS.configMap, namespace: NAMESPACE, name: TRUST_CONFIG_MAP };
const RULES = ["aggregator", "aggregator-access-review", "aggregator-certificates", "aggregator-replicas"];
/** A new CA takes over every 45 s. Certificates live for 12 s. Clients reread files every 5 s. */
const SHORT = {
  authorityLifetimeMs: 54_000,
  certificateLifetimeMs: 12_000,
  trustDelayMs: 9_000,
  clockSkewMs: 3_600_000,
  checkMs: 250,
};
const KUBELET_MS = 2_000;
const PAUSE_MS = 100;

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`the graph API's own certificates are not tested: ${support.reason}`);

describe.runIf(support.supported)("the graph API's own certificates", { timeout: 150_000 }, () => {
  let cluster: ControlPlane;
  let installation: Installation;
  let replicas: ComponentProcess[];
  let caFile: string;
  const over = new AbortController();
  let kubelet: Promise<void>;

  beforeAll(async () => {
    cluster = await startControlPlane();
    for (const file of OUR_CRDS) await cluster.createYaml(await readFile(file, "utf8"));
    await installRules(cluster, ["graph-roles", "probe", "scheduler-plugin", ...RULES]);
    await installPolicies(cluster);
    installation = new Installation(cluster);
    replicas = [await replica("aggregator-0"), await replica("aggregator-1")];
    await Promise.all(replicas.map((each) => each.start()));
    caFile = await installation.caFile();
    kubelet = bringTrust();
  }, 900_000);

  afterAll(async () => {
    over.abort();
    await kubelet;
    await installation?.close();
    await cluster?.close();
  });

  async function replica(name: string): Promise<ComponentProcess> {
    return installation.component("aggregator", name, {
      aggregator: {
        buildIntervalMs: 500,
        replicaName: name,
        replicaTokenFile: await installation.tokenFile("aggregator"),
      },
      access: { mode: "kubernetes" },
      // Replicas know each other by the first name and connect by address.
      certificates: {
        ...SHORT,
        secret: `${NAMESPACE}/${CERTIFICATES_SECRET}`,
        hosts: ["isochrone-aggregator.isochrone.svc", "127.0.0.1"],
      },
      annotations: { nodes: false },
      networkTopology: { writer: "upstream" },
      appGroups: { observe: false },
    });
  }

  async function bringTrust(): Promise<void> {
    while (!over.signal.aborted) {
      await sleep(KUBELET_MS, null, { signal: over.signal }).catch(() => undefined);
      await installation.caFile().catch(() => undefined);
    }
  }

  const stored = async (name: string): Promise<string> => {
    const data = (await cluster.get(SECRET))!["data"] as Record<string, string>;
    return Buffer.from(data[name] ?? "", "base64").toString();
  };
  const client = async (): Promise<(url: string) => Promise<number>> => {
    const tokenFile = await installation.tokenFile("scheduler-plugin");
    const ask = authorizedFetch({ caFile, tokenFile, clock: systemClock });
    return async (url) => (await ask(`${url}/api/v1/graph/cluster`)).status;
  };

  test("are one for all replicas, and their keys in the Secret alone", async () => {
    const [authority, certificate] = [await stored("ca.crt"), await stored("tls.crt")];
    expect(new X509Certificate(certificate).verify(new X509Certificate(authority).publicKey)).toBe(true);
    expect(await readFile(caFile, "utf8")).not.toContain("PRIVATE KEY");
    const ask = await client();
    expect(await Promise.all(replicas.map(({ url }) => ask(url)))).toEqual([200, 200]);
  });

  test("change, authorities too, and no request fails meanwhile", async () => {
    const ask = await client();
    const [first, served] = [await stored("ca.crt"), new Set<string>()];
    const failed: unknown[] = [];
    let asked = 0;
    while ((await stored("ca.crt")) === first || served.size < 4) {
      served.add(await stored("tls.crt"));
      // A new connection each time, because open ones would continue in any case.
      for (const { url } of replicas) {
        asked += 1;
        const status = await ask(url).catch((error: unknown) => error);
        if (status !== 200) failed.push(status);
      }
      await sleep(PAUSE_MS);
    }
    // Signed by the new CA, for new clients and for continuous ones.
    const newcomer = await client();
    for (const { url } of replicas) expect([await ask(url), await newcomer(url)]).toEqual([200, 200]);
    expect({ failed, manyAsked: asked > 100 }).toEqual({ failed: [], manyAsked: true });
    const trusted = (await cluster.get(TRUSTED))!["data"] as Record<string, string>;
    expect(trusted["ca.crt"]).toContain(first.trim());
  });

  test("are what replicas know each other by", async () => {
    const tokenFile = await installation.tokenFile("probe");
    const ask = authorizedFetch({ caFile, tokenFile, clock: systemClock });
    // The follower forwards to the leader and returns 503 if it can't reach it.
    const statuses = replicas.map(async ({ url }) => {
      const answer = await ask(`${url}/api/v1/bandwidth-leases/none`, { method: "DELETE" });
      return answer.status;
    });
    expect(await Promise.all(statuses)).toEqual([204, 204]);
  });
});
