// Rights checks: our own for this command, and each service account's according to the chart.
import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { reasonOf } from "@isochrone/primitives";
import { skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";
import { rightText } from "./rbac-files.ts";
import type { FileRights, Installation, Right } from "./rbac-files.ts";

const SERVICE_ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount" } as const;
const CONCURRENCY = 8;
const SHOWN = 6;

const OURS: readonly (Right & { readonly command: string })[] = [
  { command: "plan, gates list", verb: "list", group: "", resource: "pods" },
  { command: "plan", verb: "list", group: "", resource: "nodes" },
  { command: "gates open", verb: "patch", group: "", resource: "pods" },
];

interface AccountLook {
  readonly file: string;
  readonly account: string;
  readonly isOptional: boolean;
  readonly asked: number;
  readonly missing: readonly Right[];
  readonly isOff: boolean;
}

interface RbacFacts {
  /** Missing rights out of OURS, for us or for the user named by --as. */
  readonly ours: readonly { readonly command: string; readonly right: Right; readonly allowed: boolean }[];
  readonly whose: string;
  /** Null: accounts could not be checked, see `why`. */
  readonly accounts: readonly AccountLook[] | null;
  readonly why: string;
}

interface RbacQuestion {
  readonly store: ClusterStore;
  readonly installation: Installation;
  /** Null: files not found. */
  readonly files: readonly FileRights[] | null;
  readonly folder: string;
  readonly as: string | null;
}

/** Throws StoreError if not even our own rights can be asked. */
export async function lookAtRbac({
  store,
  installation,
  files,
  folder,
  as,
}: RbacQuestion): Promise<RbacFacts> {
  const isOfOurs = files?.some(({ account }) => as === userOf(account, installation)) ?? false;
  const asked = isOfOurs ? [] : OURS;
  const allowed = await inTurns(asked, (right) => isAllowed(store, right, as));
  const ours = asked.map(({ command, ...right }, index) => ({
    command,
    right,
    allowed: allowed[index]!,
  }));
  const whose = as ?? "we";
  const none = (why: string): RbacFacts => ({ ours, whose, accounts: null, why });
  if (files === null) return none(`the chart's files of rights are not in ${folder}`);
  try {
    const chosen = files.filter(({ account }) => as === null || as === userOf(account, installation));
    if (chosen.length === 0) return none(`${as} is no account of this installation`);
    const accounts = await inTurns(chosen, (each) => lookAtFile(store, each, installation));
    const there = accounts.filter((look) => look !== null);
    return there.length === 0
      ? none(
          `there is no service account ${chosen[0]!.account} or the like in namespace ${installation.namespace}`,
        )
      : { ours, whose, accounts: there, why: "" };
  } catch (error) {
    return none(`we may not ask about others: ${reasonOf(error)}`);
  }
}

/** Null: no such account. */
async function lookAtFile(
  store: ClusterStore,
  { file, account, isOptional, rights, own }: FileRights,
  installation: Installation,
): Promise<AccountLook | null> {
  const { namespace } = installation;
  if ((await store.get({ ...SERVICE_ACCOUNT, namespace, name: account })) === null) return null;
  const allowed = await inTurns(rights, (right) => isAllowed(store, right, userOf(account, installation)));
  const missing = rights.filter((_, index) => !allowed[index]);
  const isOff = own.every((right) => missing.includes(right));
  return { file, account, isOptional, asked: rights.length, missing, isOff };
}

const userOf = (account: string, { namespace }: Installation): string =>
  `system:serviceaccount:${namespace}:${account}`;

/** @param user null: ourselves */
export async function isAllowed(store: ClusterStore, right: Right, user: string | null): Promise<boolean> {
  const { verb, path, group = "", resource = "", subresource, namespace, name } = right;
  const attributes =
    path === undefined
      ? { resourceAttributes: { verb, group, resource, subresource, namespace, name } }
      : { nonResourceAttributes: { verb, path } };
  const who = user === null ? {} : { user, groups: groupsOf(user) };
  const answer = await store.create({
    ...(user === null ? KINDS.selfSubjectAccessReview : KINDS.subjectAccessReview),
    metadata: { name: "" },
    spec: { ...attributes, ...who },
  });
  return answer.status?.allowed === true;
}

/** Implicit groups of a service account. */
function groupsOf(user: string): string[] {
  const [, namespace] = /^system:serviceaccount:([^:]+):/.exec(user) ?? [];
  return namespace === undefined
    ? ["system:authenticated"]
    : ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}

async function inTurns<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await run(items[at]!);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return results;
}

export function judgeRbac({ ours, whose, accounts, why }: RbacFacts): Verdict[] {
  return [...ours.map((each) => oursVerdict(whose, each)), ...accountVerdicts(accounts, why)];
}

function oursVerdict(whose: string, { command, right, allowed }: RbacFacts["ours"][number]): Verdict {
  return verdict(allowed, "info", {
    check: `this command: ${command}`,
    looked: `${whose === "we" ? "SelfSubjectAccessReview" : `SubjectAccessReview of ${whose}`}: ${rightText(right)}`,
    value: allowed ? "allowed" : "not allowed",
    rule: `${whose} may ${rightText(right)}`,
    remedy:
      "Bind a ClusterRole that allows it to whoever uses this command (docs/rbac.md), or ask by another --context.",
  });
}

function accountVerdicts(accounts: readonly AccountLook[] | null, why: string): Verdict[] {
  if (accounts !== null) return accounts.map(accountVerdict);
  return [
    skipped({
      check: "service accounts",
      looked: "SubjectAccessReviews of each account for the rights in helm/isochrone/files/rbac",
      rule: "each has the rights of its files",
      why,
      remedy:
        "Say where Isochrone is by --system-namespace and --release, where the chart is by --chart, and ask as one who may create subjectaccessreviews.",
    }),
  ];
}

function accountVerdict({ file, account, isOptional, asked, missing, isOff }: AccountLook): Verdict {
  const parts = {
    check: file,
    looked: `SubjectAccessReviews of ${account} for ${asked} rights`,
    rule: `has the rights of files/rbac/${file}.yaml`,
    remedy: `Apply \`helm upgrade\` with its feature on, or that file by hand (docs/rbac.md, ${file}).`,
  };
  if (asked === 0)
    return skipped({
      ...parts,
      why: "it has no rights that can be asked without the chart's values",
      remedy: null,
    });
  if (isOptional && isOff)
    return { ...parts, severity: "info", value: "none of them: the feature is off", remedy: null };
  const shown = missing.slice(0, SHOWN).map(rightText).join(", ");
  const more = missing.length > SHOWN ? ` and ${missing.length - SHOWN} more` : "";
  return verdict(missing.length === 0, isOptional ? "warning" : "error", {
    ...parts,
    value: missing.length === 0 ? "all" : `missing: ${shown}${more}`,
  });
}
