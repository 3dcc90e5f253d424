// Mutating admission of the stand-in API server: sends new pods and EndpointSlices to the registered
// webhooks.
import { request } from "node:https";
import { jsonPatched, KINDS, matchesSelector } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { ClusterStore, JsonPatchOperation, KubernetesObject } from "@isochrone/kubernetes";
import type { Logger, Random } from "@isochrone/runtime";

interface Webhook {
  readonly name: string;
  readonly url: string;
  readonly authorities: Buffer;
  readonly timeoutMs: number;
}

const NAMESPACE_NAME = "kubernetes.io/metadata.name";
const DEFAULT_TIMEOUT_SECONDS = 10;
/** Client and webhook share this machine; when it is busy, a short timeout proves nothing. */
const LEAST_TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * Calls each webhook whose selectors match, in order, and applies its patch. Skips a failing webhook, as
 * `failurePolicy: Ignore` says. Doesn't evaluate CEL conditions, which webhooks check themselves.
 */
export class MutatingAdmission {
  readonly #store: Pick<ClusterStore, "get" | "list">;
  readonly #random: Random;
  readonly #logger: Logger;

  constructor(options: {
    readonly store: Pick<ClusterStore, "get" | "list">;
    readonly random: Random;
    readonly logger: Logger;
  }) {
    this.#store = options.store;
    this.#random = options.random;
    this.#logger = options.logger;
  }

  async admit<T extends KubernetesObject>(object: T, before: KubernetesObject | null = null): Promise<T> {
    const operations = await this.patchOf(object, before);
    return operations.length === 0 ? object : jsonPatched(object.metadata.name, object, operations);
  }

  async patchOf(
    object: KubernetesObject,
    before: KubernetesObject | null,
  ): Promise<readonly JsonPatchOperation[]> {
    const operations: JsonPatchOperation[] = [];
    let admitted = object;
    for (const webhook of await this.#webhooksFor(object, before === null ? "CREATE" : "UPDATE")) {
      try {
        const patch = await this.#ask(webhook, admitted, before);
        admitted = jsonPatched(object.metadata.name, admitted, patch);
        operations.push(...patch);
      } catch (error) {
        this.#logger.warnOnce(`webhook ${webhook.name}`, "an admission webhook failed and is skipped", {
          webhook: webhook.name,
          error,
        });
      }
    }
    return operations;
  }

  async #webhooksFor(object: KubernetesObject, operation: string): Promise<Webhook[]> {
    const { items } = await this.#store.list(KINDS.mutatingWebhookConfiguration);
    if (items.length === 0) return [];
    const { namespace = "default", labels = {} } = object.metadata;
    const found = await this.#store.get({ ...KINDS.namespace, name: namespace });
    const namespaceLabels = { ...found?.metadata.labels, [NAMESPACE_NAME]: namespace };
    return items
      .flatMap((configuration) => looseList(configuration.webhooks))
      .filter(
        ({ namespaceSelector, objectSelector, rules }) =>
          isAsked(rules, object.kind, operation) &&
          matchesSelector(looseFields(namespaceSelector), namespaceLabels) &&
          matchesSelector(looseFields(objectSelector), labels),
      )
      .map(webhookOf)
      .filter(({ url }) => url !== "");
  }

  async #ask(
    webhook: Webhook,
    object: KubernetesObject,
    before: KubernetesObject | null,
  ): Promise<readonly JsonPatchOperation[]> {
    const uid = `review-${Math.floor(this.#random.next() * 2 ** 48).toString(36)}`;
    const review = {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      request: {
        uid,
        operation: before === null ? "CREATE" : "UPDATE",
        namespace: object.metadata.namespace,
        object,
        ...(before === null ? {} : { oldObject: before }),
      },
    };
    const answer: unknown = JSON.parse(await posted(webhook, JSON.stringify(review)));
    const { response } = looseFields<Record<"response", unknown>>(answer);
    const { patch } = looseFields<Record<"patch", unknown>>(response);
    const text = looseText(patch);
    return text === "" ? [] : (JSON.parse(Buffer.from(text, "base64").toString()) as JsonPatchOperation[]);
  }
}

/** Without rules a webhook gets everything. */
function isAsked(rules: unknown, kind: string, operation: string): boolean {
  if (rules === undefined) return true;
  const resource = `${kind.toLowerCase()}s`;
  return looseList<{ resources: unknown; operations: unknown }>(rules).some(
    ({ resources, operations }) =>
      Array.isArray(resources) &&
      resources.includes(resource) &&
      Array.isArray(operations) &&
      operations.includes(operation),
  );
}

function webhookOf({
  clientConfig,
  name,
  timeoutSeconds,
}: Partial<Record<"clientConfig" | "name" | "timeoutSeconds", unknown>>): Webhook {
  const { url, caBundle } = looseFields<Record<"url" | "caBundle", unknown>>(clientConfig);
  const seconds = Number(timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS);
  return {
    name: looseText(name),
    url: looseText(url),
    authorities: Buffer.from(looseText(caBundle), "base64"),
    timeoutMs: Math.max(LEAST_TIMEOUT_MS, seconds * 1_000),
  };
}

function posted({ url, authorities, timeoutMs }: Webhook, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: "POST",
      ca: authorities,
      agent: false,
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      incoming.on("error", reject);
      incoming.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES)
          incoming.destroy(new Error(`${url} answered with more than ${MAX_ANSWER_BYTES} bytes`));
        else chunks.push(chunk);
      });
      incoming.on("end", () => {
        if (incoming.statusCode === 200) resolve(Buffer.concat(chunks).toString());
        else reject(new Error(`${url} answered with status ${incoming.statusCode}`));
      });
    });
    outgoing.end(body);
  });
}
