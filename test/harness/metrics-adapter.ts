// Stands in for KEDA's adapter, which tests can't get: requests each number from a URL.
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { CertificateAuthority } from "./common/x509.ts";
import type { ControlPlane } from "./control-plane/index.ts";

const GROUP = "external.metrics.k8s.io";
const ROOT = `/apis/${GROUP}/v1beta1`;
const HOST = "127.0.0.1";

export interface MetricsAdapter {
  close(): Promise<void>;
}

/** @param valueOf response of a scaler's URL for the metric; null: no number */
export async function startMetricsAdapter(
  cluster: ControlPlane,
  valueOf: (namespace: string, metric: string) => Promise<number | null>,
): Promise<MetricsAdapter> {
  const { certificate: cert, key } = new CertificateAuthority("adapter").issue({
    commonName: "adapter",
    hosts: ["localhost", HOST],
  });
  const server = createServer({ cert, key }, (request, response) => {
    const answer = (code: number, body: object): void =>
      void response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
    const [namespace, metric] =
      new RegExp(`^${ROOT}/namespaces/([^/]+)/([^/?]+)`).exec(request.url ?? "")?.slice(1) ?? [];
    if (namespace === undefined || metric === undefined)
      return answer(200, {
        kind: "APIResourceList",
        apiVersion: "v1",
        groupVersion: `${GROUP}/v1beta1`,
        resources: [],
      });
    void valueOf(namespace, metric).then(
      (value) =>
        value === null
          ? answer(404, { kind: "Status", apiVersion: "v1", status: "Failure", code: 404 })
          : answer(200, {
              kind: "ExternalMetricValueList",
              apiVersion: `${GROUP}/v1beta1`,
              metadata: {},
              items: [
                {
                  metricName: metric,
                  metricLabels: {},
                  timestamp: new Date().toISOString(),
                  value: String(value),
                },
              ],
            }),
      () => answer(500, { kind: "Status", apiVersion: "v1", status: "Failure", code: 500 }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const { port } = server.address() as AddressInfo;
  await cluster.create([
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "default", name: "metrics-adapter" },
      spec: { type: "ExternalName", externalName: "localhost" },
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: `v1beta1.${GROUP}` },
      spec: {
        group: GROUP,
        version: "v1beta1",
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { namespace: "default", name: "metrics-adapter", port },
      },
    },
  ]);
  return {
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
