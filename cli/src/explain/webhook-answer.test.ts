import { KINDS, LABELS, PLACEMENT_LABEL, StoreError, WEBHOOK_ANSWER } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { webhookSentence } from "./webhook-answer.ts";

const ENABLED = { [PLACEMENT_LABEL]: "enabled" };
const REGISTRATION = {
  ...KINDS.mutatingWebhookConfiguration,
  metadata: { name: "isochrone-placement" },
  webhooks: [
    {
      namespaceSelector: {
        matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["isochrone"] }],
      },
      matchConditions: [
        {
          name: "has-a-scheduler-of-ours",
          expression: 'object.spec.schedulerName in ["default-scheduler"]',
        },
      ],
    },
  ],
};

const podOf = (
  annotations: Record<string, string> = {},
  labels = {},
  namespace = "shop",
): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { name: "web-1", namespace, annotations, labels },
  spec: { nodeName: "n1", containers: [] },
});

async function storeOf(namespaceLabels: Record<string, string>, more: KubernetesObject[] = [REGISTRATION]) {
  const store = createMemoryStore({ clock: new ManualClock() });
  await store.create({ ...KINDS.namespace, metadata: { name: "shop", labels: namespaceLabels } });
  for (const object of more) await store.create(object);
  return store;
}

test("a pod that asks and has no answer was created while the API server went on without the webhook", async () => {
  const sentence = "It asks for the gate, and was created without the webhook's answer";
  expect(await webhookSentence(await storeOf(ENABLED), podOf())).toContain(sentence);
  expect(await webhookSentence(await storeOf({}), podOf({}, ENABLED))).toContain(sentence);
  const metadata = { name: "a1", namespace: "shop", labels: ENABLED };
  const byGroup = await storeOf({}, [REGISTRATION, { ...KINDS.appGroup, metadata, spec: {} }]);
  expect(await webhookSentence(byGroup, podOf({}, { [LABELS.appGroup]: "a1" }))).toContain(sentence);
});

test("an answer is told where it was no gate", async () => {
  const store = await storeOf(ENABLED);
  const said = (answer: string) => webhookSentence(store, podOf({ [WEBHOOK_ANSWER]: answer }));
  expect(await said("gated")).toBeNull();
  expect(await said("no_planner")).toContain("while no planner was alive: it got no gate");
  expect(await said("resource")).toContain("asks for the managed resource instead");
  expect(await said("gang")).toContain("one of a gang");
});

test("nothing is said of pods that don't ask, where there is no webhook, or where it can't be read", async () => {
  expect(await webhookSentence(await storeOf({}), podOf())).toBeNull();
  expect(await webhookSentence(await storeOf(ENABLED), podOf({}, ENABLED, "isochrone"))).toBeNull();
  expect(await webhookSentence(await storeOf(ENABLED, []), podOf())).toBeNull();
  const get: ClusterStore["get"] = () => Promise.reject(new StoreError("forbidden", "may not"));
  expect(await webhookSentence({ get }, podOf())).toBeNull();
});
