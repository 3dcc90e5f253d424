// Rotations of the webhook's certificates and CAs, in seconds. No admission fails.
import { X509Certificate } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { KINDS, PLACEMENT_GATE, WEBHOOK_SECRET } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MANIFEST_VALUES, type ComponentProcess } from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { askWebhook, CONFIGURATION, ENABLED, LEASE, WebhookTestbed } from "../harness/webhook.ts";

const { NAMESPACE } = MANIFEST_VALUES;
const SECRET = { ...KINDS.secret, namespace: NAMESPACE, name: WEBHOOK_SECRET };
const WITHIN = { timeout: 60_000, interval: 200 };
/** A new CA takes over about every 10 s. A certificate lives for 6 s. */
const SHORT = {
  authorityLifetimeMs: 24_000,
  certificateLifetimeMs: 6_000,
  trustDelayMs: 2_000,
  clockSkewMs: 3_600_000,
};
const PAUSE_MS = 50;

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`the webhook's certificates are not tested: ${support.reason}`);

describe.runIf(support.supported)("the webhook's certificates", { timeout: 120_000 }, () => {
  let cluster: ControlPlane;
  let testbed: WebhookTestbed;
  let plugins: ComponentProcess[];

  beforeAll(async () => {
    cluster = await startControlPlane();
    testbed = new WebhookTestbed(cluster);
    await testbed.prepare();
    plugins = [await testbed.plugin("plugin-0", SHORT), await testbed.plugin("plugin-1", SHORT)];
    await testbed.beat();
    await Promise.all(plugins.map((plugin) => plugin.start()));
    await testbed.untilGating();
  }, 900_000);

  afterAll(async () => {
    await testbed?.close();
    await cluster?.close();
  });

  const dataOf = async (name: string): Promise<string> => {
    const data = (await cluster.get(SECRET))?.["data"] as Record<string, string> | undefined;
    return Buffer.from(data?.[name] ?? "", "base64").toString();
  };
  const trusted = async (): Promise<string[]> => {
    const webhooks = ((await cluster.get(CONFIGURATION))?.["webhooks"] ?? []) as {
      clientConfig: { caBundle: string };
    }[];
    const [first] = webhooks.map(({ clientConfig }) =>
      Buffer.from(clientConfig.caBundle, "base64").toString(),
    );
    return (first ?? "").match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  };
  const admitted = (): Promise<string[]> => testbed.admitted();

  const asNewcomer = async (): Promise<boolean> => {
    const request = {
      uid: "u",
      namespace: "default",
      operation: "CREATE",
      object: testbed.pod("x", { labels: ENABLED }),
    };
    const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
    const ca = (await trusted()).join("\n");
    const answer = await askWebhook(`${testbed.balancer.url}/v1/pods/pod`, JSON.stringify(review), { ca });
    return answer.text.includes('"patchType":"JSONPatch"');
  };

  test("are good from long before they were made, and for the name by which the API server asks", async () => {
    const certificate = new X509Certificate(await dataOf("tls.crt"));
    const authority = new X509Certificate(await dataOf("ca.crt"));
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(authority.ca).toBe(true);
    expect(Date.now() - Date.parse(certificate.validFrom)).toBeGreaterThan(SHORT.clockSkewMs - 60_000);
    expect((await cluster.get(SECRET))?.["type"]).toBe("Opaque");
  });

  test("change under load, authorities too, and no pod is created without its gate", async () => {
    const [first, authority] = [await dataOf("tls.crt"), await dataOf("ca.crt")];
    const seen = { gated: 0, other: [] as string[][], overlap: 0, serving: new Set([first]) };
    const stop = new AbortController();
    const load = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const gates = await admitted();
        if (gates.join() === PLACEMENT_GATE) seen.gated += 1;
        else seen.other.push(gates);
        // The API server keeps its connections. A new client knows only the registered CA.
        if (!(await asNewcomer())) seen.other.push(["a newcomer was refused"]);
        await sleep(PAUSE_MS);
      }
    };
    const renewing = async (): Promise<boolean> => {
      seen.serving.add(await dataOf("tls.crt"));
      if ((await trusted()).length > 1) seen.overlap += 1;
      const now = await dataOf("ca.crt");
      return now !== "" && now !== authority && seen.serving.size >= 4;
    };
    const loads = [load(), load()];
    await expect.poll(renewing, { timeout: 90_000, interval: 200 }).toBe(true);
    stop.abort();
    await Promise.all(loads);
    expect(seen.other).toEqual([]);
    expect(seen.gated).toBeGreaterThan(50);
    expect(seen.overlap).toBeGreaterThan(0);
    expect(await trusted()).toContain((await dataOf("ca.crt")).trim());
  });

  test("that somebody has spoilt or deleted are made anew", async () => {
    const spoilt = Buffer.from("no certificate").toString("base64");
    await cluster.patch(SECRET, { data: { "tls.crt": spoilt, "ca.key": spoilt } });
    await expect.poll(() => dataOf("tls.crt"), WITHIN).toMatch(/^-----BEGIN/);
    await cluster.remove(SECRET);
    await expect.poll(() => dataOf("ca.key"), WITHIN).toMatch(/^-----BEGIN/);
    await expect.poll(admitted, WITHIN).toEqual([PLACEMENT_GATE]);
  });

  test("are kept by another replica when the leader is killed", async () => {
    const lease = { ...KINDS.lease, namespace: NAMESPACE, name: "isochrone-scheduler-plugin" };
    const holder = async (): Promise<string> => String((await cluster.get(lease))?.spec?.["holderIdentity"]);
    const leader = (await holder()).startsWith("plugin-0") ? plugins[0]! : plugins[1]!;
    await leader.kill();
    const before = await dataOf("tls.crt");
    await expect.poll(() => dataOf("tls.crt"), WITHIN).not.toBe(before);
    expect(await holder()).not.toContain(leader.name);
    await expect.poll(admitted, WITHIN).toEqual([PLACEMENT_GATE]);
    await leader.start();
  });

  test("and the registration are taken away by hand, while the replicas run, and do not come back by themselves", async () => {
    const kubeconfig = await cluster.kubeconfigOf({
      serviceAccount: { namespace: NAMESPACE, name: "isochrone-uninstall" },
    });
    const { code, stdout, stderr } = await testbed.gates(["open", "--all", "--remove-webhook"], kubeconfig);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("MutatingWebhookConfiguration isochrone-placement: deleted");
    expect(await testbed.gatedPods()).toEqual([]);
    // Several of the leader's check intervals.
    await sleep(2_000);
    expect([await cluster.get(CONFIGURATION), await cluster.get(SECRET)]).toEqual([null, null]);
    expect(await admitted()).toEqual([]);
    await cluster.patch(LEASE, { metadata: { annotations: { "isochrone.dev/webhook-removed-at": null } } });
    await expect.poll(admitted, WITHIN).toEqual([PLACEMENT_GATE]);
  });
});
