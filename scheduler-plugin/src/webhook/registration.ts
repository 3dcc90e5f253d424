// The MutatingWebhookConfiguration: rules, address and trusted certificates.
import {
  isStoreError,
  KINDS,
  StoreError,
  WEBHOOK_CONFIGURATION,
  type LabelExpression,
  type LabelSelector,
  type MatchCondition,
  type Webhook,
} from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import {
  LABELS,
  PLACEMENT_ENABLED,
  PLACEMENT_LABEL,
  type ClusterStore,
  type KubernetesObject,
  type OwnerReference,
} from "@isochrone/kubernetes";
import type { Entry, GateRules, ReviewPath } from "./gate-rules.ts";

export interface RegistrationOptions {
  readonly target: RegistrationTarget;
  /** ClusterRole that owns the registration; null: it isn't deleted automatically. */
  readonly ownerClusterRole: string | null;
  readonly timeoutMs: number;
  readonly schedulerNames: readonly string[];
  readonly excludedNamespaces: readonly string[];
  readonly endpointSlices: boolean;
}

type RegistrationTarget =
  | { readonly url: string }
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port: number } };

const SCHEDULER_CONDITION = "has-a-scheduler-of-ours";
const NAMESPACE_NAME = "kubernetes.io/metadata.name";

export function pathOf(entry: ReviewPath): string {
  return entry === "endpoint-slices" ? `/v1/${entry}` : `/v1/pods/${entry}`;
}

/**
 * Creates or corrects the registration; returns true if written. Keeps others' additions (labels, and
 * namespaceSelector conditions as some clouds add). Throws the store's errors.
 */
export async function register(
  store: Pick<ClusterStore, "get" | "create" | "update">,
  options: RegistrationOptions,
  trusted: string,
): Promise<boolean> {
  const wanted = configuration(options, trusted);
  const owner = await ownerOf(store, options);
  const found = await store.get({ ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION });
  if (found === null) {
    const metadata = { ...wanted.metadata, ...(owner === null ? {} : { ownerReferences: [owner] }) };
    try {
      await store.create({ ...wanted, metadata });
    } catch (error) {
      if (!isStoreError(error, "already_exists")) throw error;
    }
    return true;
  }
  const owners = found.metadata.ownerReferences ?? [];
  const isOwned = owner === null || owners.some(({ uid }) => uid === owner.uid);
  if (isOwned && isCovered(wanted.webhooks, found.webhooks)) return false;
  const metadata = {
    ...found.metadata,
    labels: { ...found.metadata.labels, ...wanted.metadata.labels },
    ...(isOwned ? {} : { ownerReferences: [...owners, owner] }),
  };
  await store.update({ ...found, metadata, webhooks: wanted.webhooks });
  return true;
}

/** Rejects if the role is missing: its deletion switched the webhook off. */
async function ownerOf(
  store: Pick<ClusterStore, "get">,
  { ownerClusterRole: name }: RegistrationOptions,
): Promise<OwnerReference | null> {
  if (name === null) return null;
  const role = await store.get({ ...KINDS.clusterRole, name });
  if (role?.metadata.uid === undefined)
    throw new StoreError("not_found", `webhook.ownerClusterRole must name a ClusterRole, got ${name}`);
  return { ...KINDS.clusterRole, name, uid: role.metadata.uid };
}

/** True if every entry of the registration trusts the authority (PEM). */
export async function isTrusted(store: Pick<ClusterStore, "get">, authority: string): Promise<boolean> {
  const found = await store.get({ ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION });
  const entries = looseList(found?.webhooks);
  return (
    entries.length > 0 &&
    entries.every(({ clientConfig }) => {
      const { caBundle } = looseFields(clientConfig);
      return (
        typeof caBundle === "string" && Buffer.from(caBundle, "base64").toString().includes(authority.trim())
      );
    })
  );
}

/** The desired registration with every field set, so that defaulting causes no difference. */
export function configuration(options: RegistrationOptions, trusted: string): KubernetesObject {
  const excluded = expression(NAMESPACE_NAME, "NotIn", options.excludedNamespaces);
  const enabled = expression(PLACEMENT_LABEL, "In", [PLACEMENT_ENABLED]);
  const notEnabled = expression(PLACEMENT_LABEL, "NotIn", [PLACEMENT_ENABLED]);
  const inAppGroup = { key: LABELS.appGroup, operator: "Exists" };
  const common = {
    admissionReviewVersions: ["v1"],
    failurePolicy: "Ignore",
    matchPolicy: "Equivalent",
    sideEffects: "None",
    timeoutSeconds: Math.round(options.timeoutMs / 1000),
    // Others may label the pod after us; repeated calls add nothing twice.
    reinvocationPolicy: "IfNeeded",
  };
  const ofPods = {
    ...common,
    rules: [ruleFor("", "pods", ["CREATE"])],
    matchConditions: matchConditions(options.schedulerNames),
  };
  // The three entries are disjoint: each pod is reviewed once.
  const webhooks = [
    entryOf("namespace", [excluded, enabled], []),
    entryOf("pod", [excluded, notEnabled], [enabled]),
    entryOf("app-group", [excluded, notEnabled], [inAppGroup, notEnabled]),
  ].map((entry) => ({ ...entry, ...ofPods }));
  const ofSlices = {
    entry: "endpoint-slices" as const,
    name: "endpoint-slices.dispatch.isochrone.dev",
    namespaceSelector: {},
    objectSelector: { matchExpressions: [{ key: "kubernetes.io/service-name", operator: "Exists" }] },
    ...common,
    rules: [ruleFor("discovery.k8s.io", "endpointslices", ["CREATE", "UPDATE"])],
  };
  return {
    ...KINDS.mutatingWebhookConfiguration,
    metadata: {
      name: WEBHOOK_CONFIGURATION,
      labels: { "app.kubernetes.io/part-of": "isochrone", "app.kubernetes.io/managed-by": "isochrone" },
    },
    webhooks: [...webhooks, ...(options.endpointSlices ? [ofSlices] : [])].map(({ entry, ...rest }) => ({
      ...rest,
      clientConfig: clientConfig(options.target, entry, trusted),
    })),
  };
}

export function rulesOfRegistration(registration: KubernetesObject): GateRules {
  const [first] = looseList<Webhook>(registration.webhooks);
  const excluded = looseList<LabelExpression>(
    looseFields<LabelSelector>(first?.namespaceSelector).matchExpressions,
  ).find(({ key, operator }) => key === NAMESPACE_NAME && operator === "NotIn");
  const condition = looseList<MatchCondition>(first?.matchConditions).find(
    ({ name }) => name === SCHEDULER_CONDITION,
  );
  return {
    excludedNamespaces: new Set(textsOf(excluded?.values)),
    schedulerNames: new Set(textsOf(namesIn(looseText(condition?.expression)))),
  };
}

function namesIn(expression: string): unknown {
  try {
    return JSON.parse(expression.slice(expression.lastIndexOf("[")));
  } catch {
    return [];
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function entryOf(
  entry: Entry,
  namespaces: readonly object[],
  objects: readonly object[],
): { readonly entry: Entry; readonly name: string } & Record<string, unknown> {
  return {
    entry,
    name: `${entry}.placement.isochrone.dev`,
    namespaceSelector: { matchExpressions: namespaces },
    objectSelector: objects.length === 0 ? {} : { matchExpressions: objects },
  };
}

/** Excludes pods that never wait. The webhook repeats the rules: an older registration may call it. */
function matchConditions(schedulerNames: readonly string[]): object[] {
  const names = schedulerNames.map((name) => JSON.stringify(name)).join(", ");
  return [
    { name: "has-no-node", expression: "!has(object.spec.nodeName) || object.spec.nodeName == ''" },
    {
      name: "is-of-no-daemon-set",
      expression:
        "!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, o.kind == 'DaemonSet')",
    },
    {
      name: SCHEDULER_CONDITION,
      expression: `!has(object.spec.schedulerName) || object.spec.schedulerName in [${names}]`,
    },
  ];
}

function ruleFor(apiGroup: string, resource: string, operations: readonly string[]): object {
  return {
    apiGroups: [apiGroup],
    apiVersions: ["v1"],
    operations,
    resources: [resource],
    scope: "Namespaced",
  };
}

function clientConfig(target: RegistrationTarget, entry: ReviewPath, trusted: string): object {
  const caBundle = Buffer.from(trusted).toString("base64");
  const path = pathOf(entry);
  return "url" in target
    ? { url: `${target.url}${path}`, caBundle }
    : { service: { ...target.service, path }, caBundle };
}

function expression(key: string, operator: "In" | "NotIn", values: readonly string[]): object {
  return { key, operator, values };
}

/** True if all wanted fields exist. Lists must be equal; selectors may have more conditions. */
function isCovered(wanted: unknown, found: unknown, name = ""): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found)) return false;
    if (name === "matchExpressions")
      return wanted.every((one: unknown) => found.some((other: unknown) => isCovered(one, other)));
    return (
      wanted.length === found.length && wanted.every((one: unknown, index) => isCovered(one, found[index]))
    );
  }
  if (typeof wanted !== "object" || wanted === null) return wanted === found;
  const fields = looseFields(found);
  return (
    fields === found &&
    Object.entries(wanted).every(([key, value]) => isCovered(value, fields[key], key)) &&
    // An empty selector matches everything; a nonempty one less.
    (name !== "clientConfig" || Object.keys(fields).length === Object.keys(wanted).length)
  );
}
