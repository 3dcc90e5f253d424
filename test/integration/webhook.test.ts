// The gating webhook on a real API server, as processes with only the chart's permissions.
import {
  EGRESS_BANDWIDTH,
  gatesOf,
  INGRESS_BANDWIDTH,
  KINDS,
  PLACEMENT_GATE,
  WEBHOOK_ANSWER,
} from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ComponentProcess } from "../harness/components/index.ts";
import { MANIFEST_VALUES } from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import {
  appGroup,
  askWebhook,
  CONFIGURATION,
  DISABLED,
  ENABLED,
  groupLabels,
  ROLE,
  WebhookTestbed,
} from "../harness/webhook.ts";
import type { PodFields } from "../harness/webhook.ts";

const { NAMESPACE, CANARY_NAMESPACE } = MANIFEST_VALUES;
const WITHIN = { timeout: 40_000, interval: 200 };
const OTHERS_GATE = "quota.example.com/admission";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`the webhook is not tested: ${support.reason}`);

describe.runIf(support.supported)("the webhook that has pods wait", { timeout: 60_000 }, () => {
  let cluster: ControlPlane;
  let testbed: WebhookTestbed;
  let plugin: ComponentProcess;
  let count = 0;

  beforeAll(async () => {
    cluster = await startControlPlane();
    testbed = new WebhookTestbed(cluster);
    await testbed.prepare();
    for (const [name, labels] of [
      ["shop", ENABLED],
      ["plain", {}],
    ] as const)
      await cluster.createNamespace(name, labels);
    for (const name of ["kube-system", NAMESPACE, CANARY_NAMESPACE])
      await cluster.patch({ ...KINDS.namespace, name }, { metadata: { labels: ENABLED } });
    await cluster.create(appGroup("asked", { ...ENABLED, "isochrone.dev/bandwidth": "annotate" }));
    await cluster.create(appGroup("unasked", {}));
    plugin = await testbed.plugin("scheduler-plugin-0");
    await testbed.beat();
    await plugin.start();
  }, 900_000);

  afterAll(async () => {
    await testbed?.close();
    await cluster?.close();
  });

  beforeEach(async () => {
    await testbed.beat();
    await testbed.untilGating();
  });

  afterEach(() => {
    testbed.balancer.isSilent = false;
  });

  async function created(options: PodFields): Promise<KubernetesObject> {
    const [pod] = await cluster.create(testbed.pod(`pod-${count++}`, options));
    return pod!;
  }
  const gates = async (options: PodFields): Promise<string[]> => gatesOf(await created(options));
  const metrics = async (): Promise<string> => (await plugin.get("/metrics")).text();

  async function expectAnswered(): Promise<string> {
    await testbed.untilGating();
    const pod = await created({ namespace: "shop" });
    expect(pod.metadata.annotations).toEqual({ [WEBHOOK_ANSWER]: "gated" });
    return pod.metadata.name;
  }

  describe("sets the gate", () => {
    test.each<[string, PodFields]>([
      ["in a namespace that asks for it", { namespace: "shop" }],
      ["for a pod that asks for it", { namespace: "plain", labels: ENABLED }],
      ["for a pod of an AppGroup that asks for it", { labels: groupLabels("asked", "web") }],
      [
        "for a pod that asks, whatever its AppGroup says",
        { labels: { ...groupLabels("unasked", "web"), ...ENABLED } },
      ],
    ])("%s", async (_, options) => {
      await expect.poll(() => gates(options), WITHIN).toEqual([PLACEMENT_GATE]);
    });

    test("behind those of others", async () => {
      const spec = { schedulingGates: [{ name: OTHERS_GATE }] };
      expect(await gates({ namespace: "shop", spec })).toEqual([OTHERS_GATE, PLACEMENT_GATE]);
    });

    test("once, where the user's manifest has it", async () => {
      const spec = { schedulingGates: [{ name: PLACEMENT_GATE }, { name: OTHERS_GATE }] };
      expect(await gates({ namespace: "shop", spec })).toEqual([PLACEMENT_GATE, OTHERS_GATE]);
    });

    test("for what a controller would make of a template, under generateName", async () => {
      expect(await gates({ namespace: "shop", isGenerated: true })).toEqual([PLACEMENT_GATE]);
    });
  });

  describe("leaves alone", () => {
    const owner = (kind: string): object => ({
      apiVersion: "apps/v1",
      kind,
      name: "x",
      uid: "1",
      controller: true,
    });
    test.each<[string, PodFields]>([
      ["pods that nobody asked about", { namespace: "plain" }],
      ["pods of an AppGroup that asks for nothing", { labels: groupLabels("unasked", "web") }],
      ["a pod that says no in a namespace that says yes", { namespace: "shop", labels: DISABLED }],
      [
        "a pod that says no in an AppGroup that says yes",
        { labels: { ...groupLabels("asked", "web"), ...DISABLED } },
      ],
      ["pods of a DaemonSet", { namespace: "shop", ownerReferences: [owner("DaemonSet")] }],
      ["a pod that has its node", { namespace: "shop", spec: { nodeName: "node-0" } }],
      ["kube-system", { namespace: "kube-system", labels: ENABLED }],
      ["our own namespace", { namespace: NAMESPACE, labels: ENABLED }],
      ["the namespace of the canaries", { namespace: CANARY_NAMESPACE, labels: ENABLED }],
      ["pods of another scheduler", { namespace: "shop", spec: { schedulerName: "another" } }],
      [
        "what the cluster itself can't do without",
        { namespace: "shop", spec: { priorityClassName: "system-node-critical" } },
      ],
    ])("%s", async (_, options) => {
      expect(await gates(options)).toEqual([]);
    });
  });

  test("pods of a DaemonSet are not even asked about", async () => {
    const asked = async (): Promise<number> =>
      [...(await metrics()).matchAll(/^isochrone_webhook_pods_total\{.*\} (\d+)$/gm)].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      );
    const before = await asked();
    const ownerReferences = [
      { apiVersion: "apps/v1", kind: "DaemonSet", name: "x", uid: "1", controller: true },
    ];
    await created({ namespace: "shop", ownerReferences });
    await created({ namespace: "plain" });
    expect(await asked()).toBe(before);
    await created({ namespace: "shop" });
    expect(await asked()).toBe(before + 1);
  });

  test("without a sign of life of the planner no pod gets the gate; with the next one they do again", async () => {
    await testbed.stopBeating();
    await expect.poll(() => gates({ namespace: "shop" }), WITHIN).toEqual([]);
    expect(await metrics()).toMatch(/isochrone_webhook_pods_total\{outcome="no_planner"\} [1-9]/);
    await testbed.beat();
    await expect.poll(() => gates({ namespace: "shop" }), WITHIN).toEqual([PLACEMENT_GATE]);
  });

  test("a webhook that says nothing costs its time limit and no pod", async () => {
    testbed.balancer.isSilent = true;
    testbed.balancer.cut();
    // The first request may still meet the end of an open connection.
    const held = async (): Promise<number> => {
      expect(await gates({ namespace: "shop" })).toEqual([]);
      return testbed.balancer.held;
    };
    await expect.poll(held, WITHIN).toBeGreaterThan(0);
    const { webhooks } = (await cluster.get(CONFIGURATION)) as unknown as {
      webhooks: { timeoutSeconds: number }[];
    };
    expect(webhooks.map(({ timeoutSeconds }) => timeoutSeconds)).toEqual([2, 2, 2]);
  });

  test("a pod that nobody answered about is counted, and explain and doctor say so", async () => {
    const unanswered = async (): Promise<number> =>
      Number(/^isochrone_webhook_unanswered_pods_total (\d+)$/m.exec(await metrics())?.[1]);
    await created({ namespace: "shop" });
    const before = await unanswered();
    testbed.balancer.isSilent = true;
    testbed.balancer.cut();
    const lost = await created({ namespace: "shop" });
    testbed.balancer.isSilent = false;
    expect(lost.metadata.annotations?.[WEBHOOK_ANSWER]).toBeUndefined();
    const answered = await expectAnswered();
    await expect.poll(unanswered, WITHIN).toBe(before + 1);
    const { name } = lost.metadata;
    const explained = async (pod: string): Promise<string> =>
      (await testbed.command(["explain", pod, "-n", "shop"])).stdout;
    expect(await explained(name)).toContain("was created without the webhook's answer");
    expect(await explained(answered)).not.toContain("webhook");
    const examined = await testbed.command(["doctor", "--only", "gates", "-o", "json"]);
    const { findings } = JSON.parse(examined.stdout) as { findings: { check: string; value: string }[] };
    const { value } = findings.find(({ check }) => check === "pods without the webhook's answer")!;
    expect(value).toContain(`shop/${name}`);
    expect(value).not.toContain(answered);
    // The API server's own count includes earlier tests.
    expect(value).toMatch(/the API server continued without it [1-9]\d* times/);
  });

  test("the registration belongs to the role with the webhook's rights", async () => {
    const { uid } = (await cluster.get(ROLE))!.metadata;
    await expect
      .poll(async () => (await cluster.get(CONFIGURATION))?.metadata.ownerReferences, WITHIN)
      .toEqual([{ ...KINDS.clusterRole, name: ROLE.name, uid }]);
  });

  test("a webhook that is dead costs no pod, and comes back", async () => {
    await plugin.kill();
    expect(await gates({ namespace: "shop" })).toEqual([]);
    await plugin.start();
    await expect.poll(() => gates({ namespace: "shop" }), WITHIN).toEqual([PLACEMENT_GATE]);
  });

  test("pods of an AppGroup get the bandwidth annotations that it asks for, where they have none of their own", async () => {
    const web = await created({ labels: groupLabels("asked", "web") });
    expect(web.metadata.annotations).toEqual({
      [EGRESS_BANDWIDTH]: "1000000",
      [WEBHOOK_ANSWER]: "gated",
    });
    const annotations = { [INGRESS_BANDWIDTH]: "7M" };
    const db = await created({ labels: { ...groupLabels("asked", "db"), ...DISABLED }, annotations });
    expect(db.metadata.annotations).toEqual(annotations);
    // Every caller gets its share.
    await created({ labels: groupLabels("asked", "web") });
    await expect
      .poll(async () => {
        const last = await created({ labels: groupLabels("asked", "db") });
        return Number(last.metadata.annotations?.[INGRESS_BANDWIDTH]);
      }, WITHIN)
      .toBeGreaterThanOrEqual(2_000_000);
    const plain = await created({ labels: groupLabels("unasked", "web") });
    expect(plain.metadata.annotations ?? {}).toEqual({});
  });

  test("a registration that others have bent is put right, and what they have added stays", async () => {
    const found = (await cluster.get(CONFIGURATION))!;
    const webhooks = structuredClone(found["webhooks"]) as Record<string, any>[]; // oxlint-disable-line typescript/no-explicit-any
    for (const entry of webhooks) {
      entry["failurePolicy"] = "Fail";
      entry["namespaceSelector"].matchExpressions.push({
        key: "cloud.example.com/own",
        operator: "DoesNotExist",
      });
    }
    await cluster.patch(CONFIGURATION, { metadata: { labels: { team: "a" } }, webhooks });
    await expect
      .poll(async () => {
        const { metadata, ...rest } = (await cluster.get(CONFIGURATION))!;
        const policies = (rest["webhooks"] as { failurePolicy: string }[]).map(
          (entry) => entry.failurePolicy,
        );
        return [policies, metadata.labels?.["team"]];
      }, WITHIN)
      .toEqual([["Ignore", "Ignore", "Ignore"], "a"]);
  });

  test("a registration that was deleted is made again", async () => {
    await cluster.remove(CONFIGURATION);
    await expect.poll(() => gates({ namespace: "shop" }), WITHIN).toEqual([PLACEMENT_GATE]);
  });

  describe("called with nonsense it says what is wrong, and goes on", () => {
    const review = (request: unknown): object => ({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      request,
    });
    test.each<[string, string, number, string]>([
      ["no JSON", "{", 400, "the body must be JSON"],
      ["nothing", "", 400, "the body must be JSON"],
      [
        "a list of 5,000 levels",
        `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
        400,
        "values must be nested at most 100 levels deep, got more",
      ],
      [
        "another kind",
        '{"apiVersion":"v1","kind":"Pod"}',
        400,
        'must be a AdmissionReview of admission.k8s.io/v1, got \\"Pod\\"',
      ],
      ["no request", JSON.stringify(review(null)), 400, "request must be an object, got null"],
      ["no uid", JSON.stringify(review({ object: {} })), 400, "request.uid must be 1 to 256 characters"],
      ["a body that is too large", `"${"x".repeat(5_000_000)}"`, 413, "at most 4194304 bytes"],
      [
        "no pod",
        JSON.stringify(review({ uid: "u", operation: "CREATE", object: 5 })),
        200,
        '"allowed":true,"warnings"',
      ],
      [
        "a pod with odd fields",
        JSON.stringify(
          review({
            uid: "u",
            namespace: 5,
            operation: "CREATE",
            object: {
              kind: "Pod",
              metadata: { labels: 5, ownerReferences: "x" },
              spec: { schedulingGates: 7, containers: null },
            },
          }),
        ),
        200,
        '"uid":"u","allowed":true',
      ],
    ])("%s", async (_, body, status, words) => {
      const answer = await askWebhook(`${testbed.balancer.url}/v1/pods/namespace`, body);
      expect(answer.text).toContain(words);
      expect(answer.status).toBe(status);
      expect(await gates({ namespace: "shop" })).toEqual([PLACEMENT_GATE]);
    });

    test("counted by reason", async () => {
      for (const reason of ["not_json", "wrong_kind", "no_request", "no_uid", "too_large", "no_pod"])
        expect(await metrics()).toMatch(
          new RegExp(`isochrone_webhook_faults_total\\{reason="${reason}"\\} [1-9]`),
        );
    });

    test("another path or method", async () => {
      expect((await askWebhook(`${testbed.balancer.url}/v1/pods/other`, "{}")).status).toBe(404);
      expect((await askWebhook(`${testbed.balancer.url}/v1/pods/pod`, "", { method: "GET" })).status).toBe(
        404,
      );
    });
  });
});
