import type { ActList, DecisionList } from "@isochrone/topology";
import type { VNode } from "preact";
import { plural, UNKNOWN } from "../model/format.ts";
import { offLine, offState, type Feature } from "../model/off.ts";
import type { PlanList } from "../model/plan.ts";
import { ACT_KINDS } from "../model/route.ts";
import { useJson } from "../parts/ask.ts";
import { Card, Empty, Lead, Loading, Name, Table, Trouble, When } from "../parts/common.tsx";
import { linkTo, look, workflows } from "../state/store.ts";
import { Acts } from "./acts.tsx";
import { actsPath, SPANS, withPart, type ActFilter } from "./act-words.ts";
import { DecisionView } from "./decision.tsx";
import { PlanView } from "./plan.tsx";

const MOST_PLANS = 1_000;
const MOST_RECENT = 200;

interface PageProps {
  readonly kind: "decision" | "plan";
  readonly id: string | null;
  readonly filter?: ActFilter;
}

export function DecisionsPage({ kind, id, filter }: PageProps): VNode {
  return id === null ? <List filter={filter} /> : <Opened kind={kind} id={id} />;
}

function List({ filter }: { readonly filter: ActFilter | undefined }): VNode {
  const acts = useJson<ActList>(actsPath(filter), { isOfNow: true });
  const namespaces = [
    ...(workflows.value?.workflows ?? []).map(({ namespace }) => namespace),
    ...(acts.data?.acts ?? []).map(({ namespace }) => namespace),
  ];
  return (
    <>
      <div class="page-head">
        <h1>Decisions</h1>
      </div>
      <Lead>
        What was done together is one row: from where to where, what was expected, what was measured
        afterwards, and whether the promise was kept. A pod's name opens the whole reasoning, then and now.
      </Lead>
      <Card title="Placements, moves, plans and proposals" id="stream">
        {acts.data === null && acts.failure !== null ? (
          <Trouble title="There are no decisions to show">
            {acts.status === 503
              ? `${offState("scheduler")} to this aggregator: graphs are drawn, and nobody scores by them. ${offLine("scheduler")}`
              : `The scheduler-plugin gives no answer: ${acts.failure.text.replace(/^no graphs: /, "")}.`}
          </Trouble>
        ) : (
          <>
            <Filters filter={filter} namespaces={namespaces} />
            {acts.data === null ? (
              <Loading lines={6} />
            ) : (
              <>
                <Unasked replicas={acts.data.incomplete ?? []} />
                <Acts list={acts.data} filter={filter} />
              </>
            )}
          </>
        )}
      </Card>
      {acts.data?.acting === undefined ? null : <NotActing acting={acts.data.acting} />}
    </>
  );
}

type ActingView = NonNullable<ActList["acting"]>;

/** Disabled parts, and the moves of a dry run. */
function NotActing({ acting: { planner, descheduler, dryRun } }: { readonly acting: ActingView }): VNode {
  const off: readonly Feature[] = [
    ...(planner ? [] : ["planner" as const]),
    ...(descheduler === "off" ? ["descheduler" as const] : []),
  ];
  return (
    <>
      {dryRun === null ? null : <DryRun {...dryRun} />}
      {off.map((feature) => (
        <p key={feature} class="soft off">
          {offState(feature)}. {offLine(feature)}
        </p>
      ))}
    </>
  );
}

/** A dry run records no decisions. */
function DryRun({ at, halt, moves, pods }: NonNullable<ActingView["dryRun"]>): VNode {
  return (
    <Card title="What the dry run would move" id="dry-run">
      <p class="soft">
        {offState("dryRun")}. {offLine("dryRun")}
      </p>
      {moves > 0 ? (
        <Table
          id="dry-run-moves"
          label="pods that the last run would have moved"
          columns={[
            { title: "Pod", isText: true },
            { title: "From", isText: true },
            { title: "To", isText: true },
            { title: "Why", isText: true },
          ]}
          rows={pods.map(({ namespace, name, from, to, detail }) => ({
            key: `${namespace}/${name}`,
            cells: [
              <Name>{`${namespace}/${name}`}</Name>,
              <Name>{from}</Name>,
              to === null ? UNKNOWN : <Name>{to}</Name>,
              detail,
            ],
          }))}
        />
      ) : (
        <Empty title={at === null ? "No run yet" : "Nothing would be moved"}>
          {halt ?? "Each pod stays where it is: isochrone descheduler says why."}
        </Empty>
      )}
      {at === null ? null : (
        <p class="soft">
          {moves > pods.length ? `${plural(moves, "pod")}, the first ${pods.length} are listed. ` : ""}
          Last run: <When at={at} />.
        </p>
      )}
    </Card>
  );
}

function Unasked({ replicas }: { readonly replicas: readonly string[] }): VNode | null {
  if (replicas.length === 0) return null;
  return (
    <p class="soft">
      The list may be incomplete: the scheduler-plugin could not ask{" "}
      {replicas.length === 1 ? "its replica" : "its replicas"} <Name>{replicas.join(", ")}</Name>.
    </p>
  );
}

function Filters({
  filter,
  namespaces,
}: {
  readonly filter: ActFilter | undefined;
  readonly namespaces: readonly string[];
}): VNode {
  const change =
    (name: keyof ActFilter) => (event: { readonly currentTarget: { readonly value: string } }) => {
      const next = withPart(filter, name, event.currentTarget.value.trim());
      look(
        {},
        { page: "decisions", kind: "decision", id: null, ...(next === undefined ? {} : { filter: next }) },
      );
    };
  const known = filter?.namespace === undefined ? namespaces : [...namespaces, filter.namespace];
  return (
    <div class="controls" role="group" aria-label="Filters of decisions">
      <label>
        Kind{" "}
        <select id="act-kind" value={filter?.kind ?? ""} onChange={change("kind")}>
          <option value="">all</option>
          {ACT_KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {kind}s
            </option>
          ))}
        </select>
      </label>
      <label>
        Namespace{" "}
        <select id="act-namespace" value={filter?.namespace ?? ""} onChange={change("namespace")}>
          <option value="">all</option>
          {[...new Set(known)].sort().map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Workload or pod{" "}
        <input
          id="act-workload"
          type="search"
          maxLength={253}
          value={filter?.workload ?? ""}
          onInput={change("workload")}
        />
      </label>
      <label>
        Time{" "}
        <select id="act-within" value={filter?.within ?? ""} onChange={change("within")}>
          <option value="">all that is kept</option>
          {Object.keys(SPANS).map((span) => (
            <option key={span} value={span}>
              last {span}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

interface OpenedProps {
  readonly kind: "decision" | "plan";
  readonly id: string;
}

function Opened(props: OpenedProps): VNode {
  const back = (
    <p class="crumbs">
      <a href={linkTo({ page: "decisions", kind: "decision", id: null })}>Decisions</a>
    </p>
  );
  const Page = props.kind === "decision" ? OpenedDecision : OpenedPlan;
  return <Page {...props} back={back} />;
}

function OpenedPlan(props: OpenedProps & { readonly back: VNode }): VNode {
  const { id, back } = props;
  const { data, failure } = useJson<PlanList>(`api/v1/plans?limit=${MOST_PLANS}`, { isOfNow: true });
  const plan = data?.plans.find((each) => each.id === id);
  if (plan !== undefined) return <PlanView plan={plan} back={back} />;
  return <Missing {...props} fault={failure?.text ?? null} isLoading={data === null} />;
}

function OpenedDecision(props: OpenedProps & { readonly back: VNode }): VNode {
  const { id, back } = props;
  // The list has the original decision at once; the separate request adds the current answer.
  const recent = useJson<DecisionList>(`api/v1/decisions?limit=${MOST_RECENT}`, { isOfNow: true });
  const path = `api/v1/decisions?id=${encodeURIComponent(id)}&now=true&limit=1`;
  const { data, failure } = useJson<DecisionList>(path, { isOfNow: true });
  const known = [...(data?.decisions ?? []), ...(recent.data?.decisions ?? [])];
  const decision = known.find((each) => each.id === id);
  if (decision !== undefined) return <DecisionView decision={decision} back={back} />;
  return <Missing {...props} fault={failure?.text ?? null} isLoading={data === null} />;
}

function Missing(
  props: Pick<OpenedProps, "kind"> & {
    readonly back: VNode;
    readonly fault: string | null;
    readonly isLoading: boolean;
  },
): VNode {
  const { kind, fault, back, isLoading } = props;
  return (
    <>
      <div class="page-head">
        {back}
        <h1>{kind === "plan" ? "Plan" : "Decision"}</h1>
      </div>
      {!isLoading ? (
        <Empty title={`This ${kind} is no longer kept`}>
          The scheduler-plugin keeps the newest ones only, and forgets them when it restarts.
        </Empty>
      ) : fault === null ? (
        <Loading lines={6} />
      ) : (
        <Trouble title={`This ${kind} can't be shown`}>{fault.replace(/^no graphs: /, "")}</Trouble>
      )}
    </>
  );
}
