// The floor of admission: a webhook without knowledge that gives each pod the next three nodes.
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { issueCertificate, KINDS, makeAuthority } from "@isochrone/kubernetes";
import type { ControlPlane } from "../../../harness/control-plane/index.ts";
import { NAMESPACE } from "./testbed.ts";

const NAME = "fixed-answers";
const HOST = "127.0.0.1";
const HOUR_MS = 3_600_000;

/** @returns a function that ends it */
export async function answerFixedly(
  cluster: ControlPlane,
  nodes: readonly string[],
): Promise<() => Promise<void>> {
  const validity = { notBeforeMs: Date.now() - HOUR_MS, notAfterMs: Date.now() + 24 * HOUR_MS };
  const authority = await makeAuthority(NAME, validity);
  const { certificate: cert, key } = await issueCertificate(authority, [HOST], validity);
  let next = 0;
  const server = createServer({ cert, key }, (request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const review = JSON.parse(Buffer.concat(parts).toString()) as { request: { uid: string } };
      const names = [0, 1, 2].map((step) => nodes[(next + step) % nodes.length]!);
      next++;
      response.setHeader("content-type", "application/json");
      response.end(answerTo(review.request.uid, names));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const url = `https://${HOST}:${(server.address() as AddressInfo).port}/`;
  const configuration = { ...KINDS.mutatingWebhookConfiguration, name: NAME };
  await cluster.create({
    ...KINDS.mutatingWebhookConfiguration,
    metadata: { name: NAME },
    webhooks: [
      {
        name: "fixed.answers.example.com",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Ignore",
        sideEffects: "None",
        timeoutSeconds: 2,
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": NAMESPACE } },
        clientConfig: { url, caBundle: Buffer.from(authority.certificate).toString("base64") },
      },
    ],
  });
  return async () => {
    await cluster.remove(configuration);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}

function answerTo(uid: string, names: readonly string[]): string {
  const nodeSelectorTerms = names.map((name) => ({
    matchFields: [{ key: "metadata.name", operator: "In", values: [name] }],
  }));
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  const patch = [
    { op: "add", path: "/spec/affinity", value: { nodeAffinity: required } },
    { op: "add", path: "/metadata/annotations", value: { fixed: "true" } },
  ];
  const response = {
    uid,
    allowed: true,
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
  };
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response });
}
