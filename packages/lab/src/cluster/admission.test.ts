import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { issueCertificate, KINDS, makeAuthority } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { MutatingAdmission } from "./admission.ts";

const DAY_MS = 86_400_000;
const GATE = [{ op: "add", path: "/spec/schedulingGates", value: [{ name: "test/gate" }] }];

interface Review {
  readonly request: { readonly uid: string; readonly namespace: string; readonly object: KubernetesObject };
}

async function webhook(
  answer: (review: Review) => { status?: number; patch?: unknown },
): Promise<{ url: string; authority: string; asked: Review[] }> {
  const validity = { notBeforeMs: Date.now() - DAY_MS, notAfterMs: Date.now() + DAY_MS };
  const authority = await makeAuthority("test", validity);
  const { certificate: cert, key } = await issueCertificate(authority, ["127.0.0.1"], validity);
  const asked: Review[] = [];
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    let text = "";
    incoming.on("data", (chunk) => (text += String(chunk)));
    incoming.on("end", () => {
      const review = JSON.parse(text) as Review;
      asked.push(review);
      const { status = 200, patch } = answer(review);
      const encoded =
        patch === undefined ? {} : { patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
      outgoing
        .writeHead(status)
        .end(JSON.stringify({ response: { uid: review.request.uid, allowed: true, ...encoded } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}/v1/pods`, authority: authority.certificate, asked };
}

async function setUp(
  url: string,
  authority: string,
): Promise<{ store: ClusterStore; admission: MutatingAdmission }> {
  const store = createMemoryStore({ clock: systemClock });
  const caBundle = Buffer.from(authority).toString("base64");
  await store.create({
    ...KINDS.mutatingWebhookConfiguration,
    metadata: { name: "test" },
    webhooks: [
      {
        name: "gate.test",
        clientConfig: { url, caBundle },
        namespaceSelector: { matchExpressions: [{ key: "gated", operator: "In", values: ["yes"] }] },
        objectSelector: {},
        timeoutSeconds: 5,
      },
    ],
  });
  return {
    store,
    admission: new MutatingAdmission({ store, random: seededRandom(1), logger: new MemoryLogger() }),
  };
}

const POD: KubernetesObject = {
  ...KINDS.pod,
  metadata: { name: "web-1", namespace: "shop" },
  spec: { containers: [] },
};

const optIn = (store: ClusterStore): Promise<KubernetesObject> =>
  store.create({ ...KINDS.namespace, metadata: { name: "shop", labels: { gated: "yes" } } });

describe("the stand-in's admission", () => {
  it("asks a registered webhook over TLS, and takes its patch", async () => {
    const { url, authority, asked } = await webhook(() => ({ patch: GATE }));
    const { store, admission } = await setUp(url, authority);
    await optIn(store);
    expect((await admission.admit(POD)).spec!["schedulingGates"]).toEqual([{ name: "test/gate" }]);
    expect(asked.map(({ request }) => [request.namespace, request.object.metadata.name])).toEqual([
      ["shop", "web-1"],
    ]);
  });

  it("asks only about namespaces that the selector takes", async () => {
    const { url, authority, asked } = await webhook(() => ({ patch: GATE }));
    const { admission } = await setUp(url, authority);
    expect(await admission.admit(POD)).toEqual(POD);
    expect(asked).toEqual([]);
  });

  it.each([
    ["answers with an error", async () => webhook(() => ({ status: 500 }))],
    [
      "patches what isn't there",
      async () => webhook(() => ({ patch: [{ op: "remove", path: "/spec/gone" }] })),
    ],
    [
      "has a certificate of another authority",
      async () => {
        const { url } = await webhook(() => ({ patch: GATE }));
        const { authority } = await webhook(() => ({}));
        return { url, authority };
      },
    ],
    ["is away", async () => ({ ...(await webhook(() => ({}))), url: "https://127.0.0.1:1/" })],
  ])("leaves a pod as it is when the webhook %s", async (_, begin) => {
    const { url, authority } = await begin();
    const { store, admission } = await setUp(url, authority);
    await optIn(store);
    expect(await admission.admit(POD)).toEqual(POD);
  });
});
