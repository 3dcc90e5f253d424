import { encodeHeaders, encodeMetrics, HEADERS, RESOURCE_ATTRIBUTES } from "@isochrone/telemetry";
import { rttMetrics } from "../../soak/floods/honest.ts";
import type { Attempt } from "./attempt.ts";
import { NODES, VICTIM, WORKFLOW } from "./testbed.ts";
import { tenantPod, type Tenant } from "./tenant.ts";

const QUESTIONS = 600;
const STREAMS = 300;
const PROBE = "isochrone-probe";

/** An account named like ours, bound to the tenant's own pod on the node. */
async function boundToken(tenant: Tenant): Promise<string> {
  await tenant.make({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: PROBE } });
  const name = `probe-like-${Math.random().toString(36).slice(2)}`;
  const pod = await tenant.runningPod(tenantPod(name, { spec: { serviceAccountName: PROBE } }));
  return tenant.token(PROBE, pod);
}

function telemetry(
  tenant: Tenant,
  token: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const nowMs = Date.now();
  const body = encodeMetrics({
    resource: { [RESOURCE_ATTRIBUTES.node]: NODES[0] },
    scope: { name: "x" },
    metrics: rttMetrics(NODES[1], 0.01, nowMs),
  });
  const identity = encodeHeaders({ source: `probe/${NODES[0]}`, epoch: "x", sequence: 1, sentAtMs: nowMs });
  const all = { "content-type": "application/x-protobuf", ...identity, ...headers };
  return tenant.atAggregator("POST", "/v1/metrics", token, all, body);
}

function question(at: number): object {
  return {
    Pod: {
      metadata: { namespace: VICTIM, name: `invented-${at}`, uid: `u${at}`, labels: { app: "web" } },
      spec: { containers: [{ resources: { requests: { cpu: "1e308", memory: "1e308" } } }] },
    },
    NodeNames: NODES,
  };
}

const asBound =
  (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: string) =>
  async (tenant: Tenant): Promise<number> =>
    tenant.atAggregator(method, path, await boundToken(tenant), headers, body);

export const REQUESTS: readonly Attempt[] = [
  {
    name: "telemetry of the node that its own pod runs on, by a token that says so",
    act: async (tenant) => telemetry(tenant, await boundToken(tenant), {}),
    gets: 403,
  },
  {
    name: "telemetry with headers that say it comes from that node's probe",
    act: async (tenant) =>
      telemetry(tenant, await boundToken(tenant), {
        [HEADERS.speaker]: `node/${NODES[0]}`,
        [HEADERS.mac]: "1.AAAA",
      }),
    gets: 403,
  },
  {
    name: "the key of records of the node that its pod runs on",
    act: asBound("GET", `/api/v1/record-key/${NODES[0]}`),
    gets: 403,
  },
  {
    name: "a probe plan, with a report that new keys are held",
    act: asBound("GET", `/api/v1/probe-plan/${NODES[0]}`, { "isochrone-probe-keys": "1,2,3;signing=3" }),
    gets: 403,
  },
  {
    name: "a report of other probes' keys, as replicas send it, of which there is one here",
    act: asBound(
      "POST",
      "/api/v1/probe-key-reports",
      { "content-type": "application/json" },
      JSON.stringify({ reports: NODES.map((node) => ({ node, keys: "1,2,3;signing=3" })) }),
    ),
    gets: 404,
  },
  {
    name: "a lease to load the network between the victim's nodes",
    act: asBound(
      "POST",
      "/api/v1/bandwidth-leases",
      { "content-type": "application/json" },
      JSON.stringify({ node: NODES[1] }),
    ),
    gets: 403,
  },
  {
    name: "the victim's graph, with a token and without",
    act: async (tenant) => {
      const path = `/api/v1/graph/workflows/${VICTIM}/${WORKFLOW}`;
      return [
        await tenant.atAggregator("GET", path, await tenant.token()),
        await tenant.atAggregator("GET", path, null),
      ];
    },
    gets: [403, 401],
  },
  {
    name: `${STREAMS} event streams`,
    act: async (tenant) => {
      const token = await tenant.token();
      const asked = Array.from({ length: STREAMS }, () =>
        tenant.atAggregator("GET", "/api/v1/events", token),
      );
      return [...new Set(await Promise.all(asked))];
    },
    gets: [403],
  },
  {
    name: `${QUESTIONS} questions to the extender without a certificate`,
    act: async (tenant) => {
      const codes = new Set<number>();
      for (let at = 0; at < QUESTIONS; at++)
        codes.add(
          await tenant.atExtender(
            `/scheduler/${at % 2 === 0 ? "filter" : "prioritize"}`,
            question(at),
            "nobody",
          ),
        );
      return [...codes];
    },
    gets: [401],
  },
  {
    name: "questions to the extender with a certificate of kube-scheduler's name, by an authority of its own",
    act: async (tenant) => [
      await tenant.atExtender("/scheduler/filter", question(0), "stranger"),
      await tenant.atExtender("/scheduler/prioritize", question(1), "stranger"),
    ],
    gets: [401, 401],
  },
  {
    name: "AdmissionReviews of its own making at the webhook, which answers and keeps nothing",
    act: (tenant) =>
      tenant.atWebhook("/v1/pods/pod", {
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        request: {
          uid: "forged",
          operation: "CREATE",
          namespace: VICTIM,
          name: "api",
          object: { metadata: { namespace: VICTIM, name: "api", labels: { app: "api" } }, spec: {} },
        },
      }),
    gets: 200,
  },
  {
    name: "the victim's objects: reading, changing, evicting, binding",
    act: async (tenant) => {
      const pods = `/api/v1/namespaces/${VICTIM}/pods`;
      return [
        await tenant.ask("GET", pods),
        await tenant.ask("PATCH", `/apis/apps/v1/namespaces/${VICTIM}/deployments/api`, {
          metadata: { annotations: { "isochrone.dev/dependencies": "[]" } },
        }),
        await tenant.ask("POST", `${pods}/web/eviction`, {
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata: { name: "web", namespace: VICTIM },
        }),
        await tenant.ask("POST", `${pods}/api/binding`, {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name: "api" },
          target: { apiVersion: "v1", kind: "Node", name: NODES[0] },
        }),
      ];
    },
    gets: [403, 403, 403, 403],
  },
  {
    name: "what is nobody's namespace: annotations of nodes, priorities, webhooks, policies",
    act: async (tenant) => [
      await tenant.ask("PATCH", `/api/v1/nodes/${NODES[0]}`, {
        metadata: { annotations: { [`isochrone.dev/network-cost-${NODES[1]}`]: "0" } },
      }),
      await tenant.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
        apiVersion: "scheduling.k8s.io/v1",
        kind: "PriorityClass",
        metadata: { name: "mine" },
        value: 1_000_000,
      }),
      await tenant.ask(
        "PATCH",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/isochrone-placement",
        {
          webhooks: [],
        },
      ),
    ],
    gets: [403, 403, 403],
  },
  {
    name: "an Event about the victim's pod, from its own namespace",
    act: (tenant) =>
      tenant.ask("POST", `/api/v1/namespaces/evil/events`, {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "moved" },
        involvedObject: { kind: "Pod", namespace: VICTIM, name: "web" },
        reason: "NetworkAwareMove",
        message: "\u001b]0;title\u0007",
        type: "Normal",
      }),
    gets: 422,
  },
];
