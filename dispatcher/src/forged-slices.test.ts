// Forged EndpointSlices: requests only go to pods of the Service.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { boundPort, seeded } from "@isochrone/primitives";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { endpointRefusal, type PodView } from "./domain/pods.ts";
import { ask } from "./testing/client.ts";
import { after, Counted } from "./testing/counted.ts";
import { DispatchRig } from "./testing/dispatch-rig.ts";

const VICTIM = "127.0.0.2";
const NAMESPACE = "shop";
const OWN = "127.0.0.1";

let rig: DispatchRig;
let victim: Server;
let reached = 0;

beforeEach(async () => {
  reached = 0;
  victim = createServer((_, response) => {
    reached++;
    response.end("the victim's secrets");
  }).listen(0, VICTIM);
  await once(victim, "listening");
  rig = await new DispatchRig().start();
});
afterEach(async () => {
  await rig.stop();
  victim.closeAllConnections();
  victim.close();
});

interface Forgery {
  readonly endpoint: object;
  readonly service?: object;
  readonly pod?: { readonly labels?: Record<string, string>; readonly status?: object; namespace?: string };
  readonly addressType?: string;
}

const forgeries: Readonly<Record<string, readonly [refusal: string | null, forgery: Forgery]>> = {
  "of a Service without selector": ["no_selector", { service: { selector: null }, endpoint: {} }],
  "of a Service whose selector is empty": [
    "no_selector",
    { service: { selector: { app: null } }, endpoint: {} },
  ],
  "of a Service without selector, with a pod": [
    "no_selector",
    { service: { selector: null }, endpoint: { targetRef: { kind: "Pod", name: "mine" } }, pod: {} },
  ],
  "that names no pod": ["no_pod", { endpoint: {} }],
  "that names a node": ["no_pod", { endpoint: { targetRef: { kind: "Node", name: "mine" } }, pod: {} }],
  "that names a pod which isn't there": [
    "no_pod",
    { endpoint: { targetRef: { kind: "Pod", name: "nobody" } } },
  ],
  "that names another namespace's pod": [
    "no_pod",
    {
      endpoint: { targetRef: { kind: "Pod", namespace: "bank", name: "mine" } },
      pod: { namespace: "bank", status: { podIP: VICTIM } },
    },
  ],
  "that names a pod of the past": [
    "no_pod",
    {
      endpoint: { targetRef: { kind: "Pod", name: "mine", uid: "before" } },
      pod: { status: { podIP: VICTIM } },
    },
  ],
  "that names the tenant's pod with the victim's address": [
    "other_address",
    { endpoint: { targetRef: { kind: "Pod", name: "mine" } }, pod: {} },
  ],
  "that names a pod without an address": [
    "other_address",
    { endpoint: { targetRef: { kind: "Pod", name: "mine" } }, pod: { status: { podIP: "" } } },
  ],
  "that names the victim's pod, which the Service doesn't select": [
    "not_selected",
    {
      endpoint: { targetRef: { kind: "Pod", name: "mine" } },
      pod: { labels: { app: "victim" }, status: { podIP: VICTIM } },
    },
  ],
  "that names an ended pod, whose address the victim has now": [
    "ended",
    {
      endpoint: { targetRef: { kind: "Pod", name: "mine" } },
      pod: { status: { phase: "Succeeded", podIP: VICTIM } },
    },
  ],
  "that names a host": [
    "other_address",
    {
      addressType: "FQDN",
      endpoint: { addresses: ["localhost"], targetRef: { kind: "Pod", name: "mine" } },
      pod: {},
    },
  ],
};

const MANAGERS = ["endpointslice-controller.k8s.io", "tenant", null];

test.each(Object.entries(forgeries))("a slice %s brings no request to the victim", async (_, kind) => {
  const [refusal, { endpoint, service = {}, pod, addressType = "IPv4" }] = kind;
  await rig.service("web");
  await rig.store.patch({ ...KINDS.service, namespace: NAMESPACE, name: "web" }, { spec: service });
  if (pod !== undefined) await addPod(pod);
  for (const [at, manager] of MANAGERS.entries())
    await addSlice(`forged-${at}`, manager, addressType, { addresses: [VICTIM], ...endpoint });
  await vi.waitFor(async () =>
    expect(await rig.metric("endpoints_refused")).toContainEqual({
      labels: { reason: refusal },
      value: MANAGERS.length,
    }),
  );
  const answer = await ask(rig.port);
  expect(answer).toMatchObject({ status: 503, headers: { "isochrone-reason": "no_endpoints" } });
  expect(answer.body).toContain(`${refusal} ${MANAGERS.length}`);
  const own = new Counted(after(0));
  await rig.endpoint(own.listener);
  const expected = refusal === "no_selector" ? 503 : 200;
  await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(expected));
  for (let each = 0; each < 20; each++) await ask(rig.port);
  expect(reached).toBe(0);
});

test("an endpoint counts as soon as its pod has the address, and no longer than its pod is the Service's", async () => {
  await rig.service("web");
  const port = await rig.listen(createServer(after(0)));
  const name = "mine";
  const status = async (): Promise<number> => (await ask(rig.port)).status;
  await addSlice("early", null, "IPv4", { addresses: [OWN], targetRef: { kind: "Pod", name } }, port);
  await vi.waitFor(async () => expect(await status()).toBe(503));
  const ref = { ...KINDS.pod, namespace: NAMESPACE, name };
  const changes: readonly (readonly [expected: number, change: () => Promise<unknown>])[] = [
    [503, () => addPod({ status: { podIP: "" } })],
    [200, () => rig.store.patch(ref, { status: { podIP: OWN } }, { subresource: "status" })],
    [503, () => rig.store.patch(ref, { metadata: { labels: { app: "other" } } })],
    [200, () => rig.store.patch(ref, { metadata: { labels: { app: "web" } } })],
    [503, () => rig.store.patch(ref, { status: { phase: "Failed" } }, { subresource: "status" })],
    [503, () => rig.store.delete(ref, { gracePeriodSeconds: 0 })],
    [200, () => addPod({})],
    [503, () => selecting({ app: "other" })],
    [200, () => selecting({ app: "web" })],
    [503, () => rig.store.delete(ref, { gracePeriodSeconds: 0 })],
  ];
  for (const [at, [expected, change]] of changes.entries()) {
    await change();
    await vi.waitFor(async () => expect([at, await status()]).toEqual([at, expected]));
  }
});

test("of any endpoint, selector and pod, only an address of a live, selected pod is taken", () => {
  const draw = seeded(37);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(draw() * of.length)]!;
  const texts = ["a", "b", "c"];
  let taken = 0;
  for (let round = 0; round < 5_000; round++) {
    const selector = pick([null, { app: pick(texts) }, { app: pick(texts), tier: pick(texts) }]);
    const pod: PodView | null = pick([
      null,
      ...Array.from({ length: 4 }, () => ({
        uid: pick(texts),
        node: null,
        labels: { app: pick(texts), tier: pick(texts) },
        addresses: pick([[], [pick(texts)], [pick(texts), pick(texts)]]),
        isEnded: draw() < 0.3,
      })),
    ]);
    const endpoint = { address: pick(texts), uid: pick([null, pick(texts)]) };
    const isTaken = endpointRefusal(endpoint, selector, pod) === null;
    taken += Number(isTaken);
    expect(isTaken).toBe(
      selector !== null &&
        pod !== null &&
        !pod.isEnded &&
        pod.addresses.includes(endpoint.address) &&
        pod.labels["app"] === selector.app &&
        ("tier" in selector ? pod.labels["tier"] === selector.tier : true) &&
        (endpoint.uid === null || endpoint.uid === pod.uid),
    );
  }
  expect(taken).toBeGreaterThan(50);
});

function selecting(selector: Record<string, string>): Promise<unknown> {
  return rig.store.patch({ ...KINDS.service, namespace: NAMESPACE, name: "web" }, { spec: { selector } });
}

async function addPod({ labels = { app: "web" }, status = {}, namespace }: Forgery["pod"] & object) {
  await rig.pod("mine", { labels, node: "node-west", status, ...(namespace ? { namespace } : {}) });
}

async function addSlice(
  name: string,
  manager: string | null,
  addressType: string,
  endpoint: object,
  port = boundPort(victim),
): Promise<KubernetesObject> {
  return await rig.store.create({
    ...KINDS.endpointSlice,
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: {
        "kubernetes.io/service-name": "web",
        ...(manager === null ? {} : { "endpointslice.kubernetes.io/managed-by": manager }),
      },
    },
    addressType,
    ports: [{ name: "http", port, protocol: "TCP" }],
    endpoints: [{ conditions: { ready: true }, ...endpoint }],
  });
}
