// Uses Kubernetes' own EndpointSlice controller and only the chart's permissions.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { codeOf, looseList } from "@isochrone/primitives";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../harness/common/free-port.ts";
import {
  grantsOf,
  Installation,
  MANIFEST_VALUES,
  usesOf,
  verdictOf,
  type ComponentProcess,
} from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { Helm, helmSupport } from "../harness/helm/index.ts";

const { NAMESPACE, NAME } = MANIFEST_VALUES;
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:${NAME}-dispatcher`;
const COMPONENTS = ["controller-manager"] as const;
const HOST = "127.0.0.1";
/** An address of this machine, so that packets stay local. EndpointSlices reject loopback addresses. */
const ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
const WITHIN = { timeout: 60_000, interval: 250 };
const missing = [controlPlaneSupport(COMPONENTS), helmSupport()].flatMap((support) =>
  support.supported ? [] : [support.reason],
);
if (ADDRESS === undefined) missing.push("this machine has no address but loopback ones");
if (missing.length > 0) console.warn(`the dispatcher is not tested: ${missing.join("; ")}`);

interface Decisions {
  readonly decisions: readonly {
    readonly endpoints: number;
    readonly tries: readonly { endpoint: string }[];
  }[];
}

describe.runIf(missing.length === 0)("the dispatcher on a real API server", { timeout: 120_000 }, () => {
  let cluster: ControlPlane;
  let installation: Installation;
  let dispatcher: ComponentProcess;
  let grants: ReturnType<typeof grantsOf>;
  let port = 0;
  let nobodysPort = 0;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: COMPONENTS, audit: true });
    await cluster.createNamespace(NAMESPACE);
    const helm = await Helm.open();
    const rendered = await helm.template({ dispatcher: { enabled: true }, fullnameOverride: NAME });
    await helm.close();
    const rules = rendered.filter(
      ({ kind, metadata }) =>
        metadata.name === `${NAME}-dispatcher` &&
        /^(ServiceAccount|ClusterRole|ClusterRoleBinding)$/.test(kind),
    );
    for (const rule of rules) await cluster.create(inNamespace(rule));
    grants = grantsOf(rules.map(inNamespace));
    await cluster.addNodes(1);
    installation = new Installation(cluster);
    const ports = new Set<number>();
    port = await freePort(HOST, ports);
    nobodysPort = await freePort(HOST, ports);
    dispatcher = await installation.component("dispatcher", "dispatcher", {
      dispatcher: { port, aggregatorUrl: `http://${HOST}:1` },
    });
    await dispatcher.start();
  }, 900_000);

  afterAll(async () => {
    await installation?.close();
    await cluster?.close();
  });

  function inNamespace<T extends Awaited<ReturnType<Helm["template"]>>[number]>(object: T): T {
    return JSON.parse(
      JSON.stringify(object).replaceAll('"namespace":"default"', `"namespace":"${NAMESPACE}"`),
    ) as T;
  }

  async function addPod(name: string): Promise<void> {
    const pod = { namespace: "default", name };
    await cluster.create({
      ...KINDS.pod,
      metadata: { ...pod, labels: { app: "web" } },
      spec: { containers: [{ name: "main", image: "none" }], terminationGracePeriodSeconds: 0 },
    });
    await cluster.bindAndRun(pod, "node-0");
    await cluster.request("PATCH", `/api/v1/namespaces/default/pods/${name}/status`, {
      status: { podIP: ADDRESS, podIPs: [{ ip: ADDRESS }] },
    });
  }

  const slices = (): Promise<KubernetesObject[]> =>
    cluster.list(KINDS.endpointSlice, { namespace: "default", labels: "kubernetes.io/service-name=web" });

  async function endpointOfService(): Promise<{ readonly host: string; readonly port: number }> {
    const [slice] = await slices();
    const [endpoint] = looseList<{ addresses: unknown }>(slice?.endpoints);
    const [to] = looseList<{ port: number }>(slice?.ports);
    return { host: String(endpoint?.addresses), port: Number(to?.port) };
  }

  async function reason(): Promise<string> {
    return await new Promise((resolve, reject) => {
      const sent = request({ host: HOST, port, headers: { host: "web.default" }, agent: false }, (answer) => {
        answer.resume();
        resolve(String(answer.headers["isochrone-reason"]));
      });
      sent.once("error", reject);
      sent.end();
    });
  }

  test("follows Services that ask for it, and their pods as they come and go", async () => {
    const service = { ...KINDS.service, namespace: "default", name: "web" };
    await cluster.create({
      ...KINDS.service,
      metadata: { namespace: "default", name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: nobodysPort }] },
    });
    expect(await reason()).toBe("unknown_service");
    await cluster.patch(service, { metadata: { annotations: { "isochrone.dev/dispatch": "dispatcher" } } });
    await expect.poll(reason, WITHIN).toBe("no_endpoints");
    await addPod("web-0");
    await expect.poll(reason, WITHIN).toBe("unreachable");
    const answer = await dispatcher.get("/api/v1/dispatch-decisions?service=default/web&limit=1");
    expect(((await answer.json()) as Decisions).decisions).toMatchObject([
      {
        endpoints: 1,
        reason: "unreachable",
        tries: [{ endpoint: `${ADDRESS}:${nobodysPort}`, node: "node-0" }],
      },
    ]);
    await cluster.remove({ ...KINDS.pod, namespace: "default", name: "web-0" });
    await expect.poll(reason, WITHIN).toBe("no_endpoints");
  });

  test("killed at once it leaves the Service as it was, which answers, and serves again when it is back", async () => {
    const server = await serving(nobodysPort);
    try {
      await addPod("web-1");
      const through = { host: HOST, port };
      await expect.poll(() => answerOf(through), WITHIN).toBe("200 from the pod");
      const before = await slices();
      await dispatcher.kill();
      expect(await answerOf(through)).toBe("ECONNREFUSED");
      const direct = await endpointOfService();
      for (let each = 0; each < 20; each++) expect(await answerOf(direct)).toBe("200 from the pod");
      expect(await slices()).toEqual(before);
      await dispatcher.start();
      await expect.poll(() => answerOf(through), WITHIN).toBe("200 from the pod");
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test("sends nothing to addresses that a tenant writes into EndpointSlices", async () => {
    const namespace = "tenant";
    await cluster.createNamespace(namespace);
    const identity = { user: "tenant" };
    const rules = [
      { apiGroups: [""], resources: ["services", "pods"], verbs: ["create", "patch"] },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["create"] },
    ];
    await cluster.grant(identity, rules, namespace);
    const tenant = await cluster.clientOf(identity);
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    const labels = { app: "steal" };
    const containers = [{ name: "main", image: "none" }];
    const pod = { ...KINDS.pod, metadata: { name: "mine", labels }, spec: { containers } };
    // The namespace's service account appears a moment later.
    await expect.poll(async () => (await tenant.answer("POST", pods, pod)).code, WITHIN).toBe(201);
    const address = { status: { podIP: ADDRESS, podIPs: [{ ip: ADDRESS }] } };
    const merge = { contentType: "application/merge-patch+json" };
    expect((await tenant.answer("PATCH", `${pods}/mine/status`, address, merge)).code).toBe(403);
    let stolen = 0;
    const victim = createServer((_request, response) => {
      stolen++;
      response.end("the victim's secrets");
    }).listen(await freePort(HOST, new Set([port, nobodysPort])), ADDRESS);
    await once(victim, "listening");
    const { port: victimPort } = victim.address() as AddressInfo;
    try {
      const forgeries = [
        { name: "bare", selector: undefined, targetRef: undefined },
        { name: "alone", selector: undefined, targetRef: { kind: "Pod", name: "mine" } },
        { name: "selecting", selector: labels, targetRef: { kind: "Pod", name: "mine" } },
        {
          name: "foreign",
          selector: labels,
          targetRef: { kind: "Pod", namespace: "default", name: "web-1" },
        },
      ];
      for (const { name, selector, targetRef } of forgeries) {
        const annotations = { "isochrone.dev/dispatch": "dispatcher" };
        const service = await tenant.answer("POST", `/api/v1/namespaces/${namespace}/services`, {
          ...KINDS.service,
          metadata: { name, annotations },
          spec: { selector, ports: [{ name: "h", port: 80 }] },
        });
        const slice = await tenant.answer(
          "POST",
          `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
          {
            ...KINDS.endpointSlice,
            metadata: {
              name: `${name}-forged`,
              labels: {
                "kubernetes.io/service-name": name,
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
              },
            },
            addressType: "IPv4",
            ports: [{ name: "h", port: victimPort }],
            endpoints: [{ addresses: [ADDRESS], targetRef }],
          },
        );
        expect([service.code, slice.code]).toEqual([201, 201]);
        // The response names the reason once the dispatcher knows the slice.
        const through = { host: HOST, port };
        await expect
          .poll(() => answerOf(through, `${name}.${namespace}`), WITHIN)
          .toMatch(/^503 .*(no_selector|no_pod|other_address) 1/s);
      }
      expect(stolen).toBe(0);
    } finally {
      victim.closeAllConnections();
      victim.close();
    }
  });

  test("asks for nothing else, and leaves no right on the API server unused", async () => {
    const isOurs = (user: string): boolean => user === ACCOUNT;
    const events = await cluster.auditEvents(({ user }) => isOurs(user));
    const uses = events.flatMap((event) => usesOf(event, isOurs));
    // The aggregator, which is away here, would request its page.
    const byApiServer = grants.filter(({ on }) => !on.startsWith("/isochrone/"));
    const verdict = verdictOf({
      grants: byApiServer,
      uses,
      scenarios: [],
      faultsOnly: {},
      byChance: new Set(),
    });
    expect({ unused: verdict.unused, denied: verdict.denied }).toEqual({ unused: [], denied: [] });
  });
});

async function serving(port: number): Promise<Server> {
  const server = createServer((_request, response) => response.end("from the pod"));
  server.listen(port, ADDRESS);
  await once(server, "listening");
  return server;
}

function answerOf(
  to: { readonly host: string; readonly port: number },
  host = "web.default",
): Promise<string> {
  return new Promise((resolve) => {
    const sent = request({ ...to, headers: { host }, agent: false }, (answer) => {
      let text = `${answer.statusCode} `;
      answer.on("data", (data: Buffer) => (text += data.toString()));
      answer.once("end", () => resolve(text));
    });
    sent.once("error", (error) => resolve(codeOf(error) ?? error.message));
    sent.end();
  });
}
