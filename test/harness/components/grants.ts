import type { KubernetesObject } from "@isochrone/kubernetes";
import type { AuditEvent } from "../control-plane/index.ts";

export interface Grant {
  readonly user: string;
  readonly verb: string;
  /** `<resource>[/<subresource>][.<group>]`, or a path that may end in a star. */
  readonly on: string;
  /** Null: all namespaces, or a cluster-scoped object. */
  readonly namespace: string | null;
  /** Null: any name. */
  readonly name: string | null;
}

export interface Use extends Grant {
  readonly atMs: number;
  /** Reason of the denial. Null: allowed. */
  readonly denial: string | null;
  /** The denying server may not have loaded its roles yet. */
  readonly isPremature: boolean;
}

interface RoleRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export function textOf({ user, verb, on, namespace, name }: Grant): string {
  const account = user.slice(user.lastIndexOf(":") + 1);
  return [
    account,
    verb,
    on,
    ...(name === null ? [] : [name]),
    ...(namespace === null ? [] : ["in", namespace]),
  ].join(" ");
}

export function grantsOf(objects: readonly KubernetesObject[]): Grant[] {
  const rulesOf = new Map<string, readonly RoleRule[]>();
  for (const object of objects) {
    if (object.kind !== "Role" && object.kind !== "ClusterRole") continue;
    const { namespace = "", name } = object.metadata;
    rulesOf.set(`${object.kind} ${namespace}/${name}`, object["rules"] as RoleRule[]);
  }
  const grants = objects.flatMap((binding) => {
    if (binding.kind !== "RoleBinding" && binding.kind !== "ClusterRoleBinding") return [];
    const { namespace } = binding.metadata;
    const { kind, name } = binding["roleRef"] as { kind: string; name: string };
    const rules = rulesOf.get(`${kind} ${kind === "Role" ? namespace : ""}/${name}`) ?? [];
    const users = (binding["subjects"] as Subject[])
      .filter((subject) => subject.kind === "ServiceAccount")
      .map((subject) => `system:serviceaccount:${subject.namespace ?? namespace}:${subject.name}`);
    return users.flatMap((user) => rules.flatMap((rule) => grantsOfRule(user, namespace ?? null, rule)));
  });
  return [...new Map(grants.map((grant) => [textOf(grant), grant])).values()];
}

function grantsOfRule(user: string, namespace: string | null, rule: RoleRule): Grant[] {
  const { apiGroups = [], resources = [], resourceNames = [null], nonResourceURLs = [], verbs } = rule;
  const things = apiGroups.flatMap((group) => resources.map((resource) => onOf(resource, group)));
  return verbs.flatMap((verb) => [
    ...things.flatMap((on) => resourceNames.map((name) => ({ user, verb, on, namespace, name }))),
    ...nonResourceURLs.map((on) => ({ user, verb, on, namespace: null, name: null })),
  ]);
}

export function covers(grant: Grant, use: Grant): boolean {
  return (
    grant.user === use.user &&
    grant.verb === use.verb &&
    (grant.on === use.on || (grant.on.endsWith("*") && use.on.startsWith(grant.on.slice(0, -1)))) &&
    (grant.namespace === null || grant.namespace === use.namespace) &&
    (grant.name === null || grant.name === use.name)
  );
}

/** Extracts the users' requests from an audit event. SubjectAccessReviews need the event's bodies. */
export function usesOf(event: AuditEvent, isOurs: (user: string) => boolean): Use[] {
  const reviewed = event.resource === "subjectaccessreviews" ? reviewedUse(event) : null;
  return [
    ...(reviewed !== null && isOurs(reviewed.user) ? [reviewed] : []),
    ...(isOurs(event.user) ? ownUses(event) : []),
  ];
}

function ownUses(event: AuditEvent): Use[] {
  const { user, verb, namespace, name, receivedMs: atMs, code, path, decision, isEarly } = event;
  const on =
    event.resource === ""
      ? path.split("?")[0]!
      : onOf(joined(event.resource, event.subresource), event.apiGroup);
  const isRefused = decision === "forbid" || code === 403;
  const use: Use = {
    user,
    verb,
    on,
    namespace: namespace === "" ? null : namespace,
    name: name === "" ? null : name,
    atMs,
    denial: isRefused ? refusalOf(event) : null,
    isPremature: isRefused && isEarly,
  };
  // A server-side apply that creates an object needs the create permission. The audit log shows a patch.
  return verb === "patch" && code === 201 ? [use, { ...use, verb: "create", name: null }] : [use];
}

function reviewedUse({ requestObject, responseObject, receivedMs: atMs, isEarly }: AuditEvent): Use | null {
  const { spec } = (requestObject ?? {}) as { spec?: ReviewSpec };
  const { status } = (responseObject ?? {}) as { status?: { allowed?: boolean } };
  if (spec === undefined || status === undefined) return null;
  const { user, nonResourceAttributes: path, resourceAttributes: of } = spec;
  const denial = status.allowed === true ? null : "a SubjectAccessReview says no";
  const own = { user, atMs, denial, isPremature: denial !== null && isEarly };
  if (path !== undefined) return { ...own, verb: path.verb, on: path.path, namespace: null, name: null };
  if (of === undefined) return null;
  const on = onOf(joined(of.resource, of.subresource ?? ""), of.group ?? "");
  return { ...own, verb: of.verb, on, namespace: of.namespace ?? null, name: of.name ?? null };
}

interface ReviewSpec {
  readonly user: string;
  readonly nonResourceAttributes?: { readonly verb: string; readonly path: string };
  readonly resourceAttributes?: {
    readonly verb: string;
    readonly group?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
}

function refusalOf({ decision, responseObject }: AuditEvent): string {
  const { message = "" } = (responseObject ?? {}) as { message?: string };
  return decision === "forbid" ? "RBAC does not allow it" : message;
}

function joined(resource: string, subresource: string): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}

function onOf(resource: string, group: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}
