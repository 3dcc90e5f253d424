import { createHash } from "node:crypto";
import type { PrincipalPod } from "@isochrone/runtime/http";
import { KINDS } from "../kinds.ts";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore } from "../store/port.ts";
import type { Verdict } from "./verdict-cache.ts";

export interface Account {
  readonly user: string;
  readonly uid: string | null;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  /** Cache key of an account. Ignores attributes of single tokens. */
  readonly key: string;
  /** The node that the token is bound to, which grants no rights. Null: none. */
  readonly node: string | null;
  readonly pod: PrincipalPod | null;
}

/**
 * Extra attributes of single tokens grant no rights. Ignoring them lets one review serve all pods of a
 * DaemonSet.
 */
const OF_ONE_TOKEN = "authentication.kubernetes.io/";
/** For service accounts, only the API server's own authenticator sets these, and verifies them. */
const NODE_NAME = `${OF_ONE_TOKEN}node-name`;
const POD_NAME = `${OF_ONE_TOKEN}pod-name`;
const POD_UID = `${OF_ONE_TOKEN}pod-uid`;
const SERVICE_ACCOUNT = /^system:serviceaccount:([a-z0-9.-]{1,253}):([a-z0-9.-]{1,253})$/;

export async function reviewToken(
  store: ClusterStore,
  token: string,
  audience: string,
): Promise<Verdict<Account>> {
  const answer = await store.create({
    ...KINDS.tokenReview,
    metadata: { name: "" },
    spec: { token, audiences: [audience] },
  });
  const { authenticated, user, audiences, error } = answer.status ?? {};
  if (authenticated !== true)
    return { denied: typeof error === "string" && error !== "" ? error : "not authenticated" };
  // An authenticator without audience support omits them: such a token is for the API server alone.
  if (!Array.isArray(audiences) || !audiences.includes(audience))
    return { denied: `not for audience ${audience}` };
  const account = readAccount(user);
  return account === null ? { denied: "of a user without a name" } : { granted: account };
}

export async function reviewAccess(
  store: ClusterStore,
  account: Account,
  attributes: { readonly verb: string; readonly path: string },
): Promise<Verdict<true>> {
  const { user, uid, groups, extra } = account;
  const answer = await store.create({
    ...KINDS.subjectAccessReview,
    metadata: { name: "" },
    spec: { nonResourceAttributes: attributes, user, groups, extra, ...(uid === null ? {} : { uid }) },
  });
  const { allowed, reason } = answer.status ?? {};
  if (allowed === true) return { granted: true };
  return { denied: typeof reason === "string" ? reason : "" };
}

function readAccount(value: unknown): Account | null {
  const { username, uid, groups, extra } = looseFields(value);
  if (typeof username !== "string" || username === "") return null;
  const described = {
    user: username,
    uid: typeof uid === "string" && uid !== "" ? uid : null,
    groups: textsOf(groups).toSorted(),
    extra: readExtra(extra),
  };
  const key = createHash("sha256").update(JSON.stringify(described)).digest("base64url");
  return { ...described, key, ...readBinding(username, extra) };
}

/**
 * Binding of a service account's token. Extra attributes of other users are untrusted: a webhook or an OIDC
 * provider sets them.
 */
function readBinding(username: string, extra: unknown): Pick<Account, "node" | "pod"> {
  const namespace = SERVICE_ACCOUNT.exec(username)?.[1];
  if (namespace === undefined) return { node: null, pod: null };
  const claims = looseFields(extra);
  const [node = null] = textsOf(claims[NODE_NAME]);
  const [name] = textsOf(claims[POD_NAME]);
  const [uid] = textsOf(claims[POD_UID]);
  return { node, pod: name === undefined || uid === undefined ? null : { namespace, name, uid } };
}

function readExtra(extra: unknown): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(looseFields(extra))
      .filter(([name]) => !name.startsWith(OF_ONE_TOKEN))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, values]) => [name, textsOf(values)]),
  );
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
