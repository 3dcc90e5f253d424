import type { Decision, DecisionList } from "@isochrone/topology";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { PlanList } from "../model/plan.ts";
import { Card, Empty, Lead, Loading, Name, Table, Trouble, When } from "../parts/common.tsx";
import { useJson } from "../parts/ask.ts";
import { linkTo } from "../state/store.ts";
import { becauseOf, whereOf } from "./compare.ts";
import { DecisionView } from "./decision.tsx";
import { PlanView } from "./plan.tsx";
import { badgeOf, FILTERS, streamOf, wordOf, type Entry, type Filter } from "./stream.ts";

const MOST = 200;

export function DecisionsPage(props: {
  readonly kind: "decision" | "plan";
  readonly id: string | null;
}): VNode {
  const decisions = useJson<DecisionList>(`api/v1/decisions?limit=${MOST}`, { isOfNow: true });
  const plans = useJson<PlanList>("api/v1/plans?limit=50", { isOfNow: true });
  const { id } = props;
  if (id !== null)
    return (
      <Opened
        {...props}
        id={id}
        decisions={decisions.data}
        plans={plans.data}
        fault={decisions.failure?.text ?? null}
      />
    );
  return (
    <>
      <div class="page-head">
        <h1>Decisions</h1>
      </div>
      <Lead>
        On which node each pod runs, what Isochrone would have chosen where that differs, and why pods were
        moved. A name opens the whole reasoning, then and now.
      </Lead>
      <Card title="Placements, evictions and plans" id="stream">
        {decisions.data === null ? (
          decisions.failure === null ? (
            <Loading lines={6} />
          ) : (
            <Trouble title="There are no decisions to show">
              {decisions.status === 503
                ? "No scheduler-plugin is connected to this aggregator (aggregator.decisionsUrl): graphs are drawn, and nobody scores by them."
                : `The scheduler-plugin gives no answer: ${decisions.failure.text.replace(/^no graphs: /, "")}.`}
            </Trouble>
          )
        ) : (
          <>
            <Unasked replicas={decisions.data.incomplete ?? plans.data?.incomplete ?? []} />
            <Stream decisions={decisions.data.decisions} plans={plans.data?.plans ?? []} />
          </>
        )}
      </Card>
    </>
  );
}

/** Replicas of the scheduler-plugin that may know more. */
function Unasked({ replicas }: { readonly replicas: readonly string[] }): VNode | null {
  if (replicas.length === 0) return null;
  return (
    <p class="soft">
      The list may be incomplete: the scheduler-plugin could not ask{" "}
      {replicas.length === 1 ? "its replica" : "its replicas"} <Name>{replicas.join(", ")}</Name>.
    </p>
  );
}

function Stream(props: {
  readonly decisions: DecisionList["decisions"];
  readonly plans: PlanList["plans"];
}): VNode {
  const [filter, setFilter] = useState<Filter>("all");
  const entries = streamOf(props.decisions, props.plans, filter);
  return (
    <>
      <div class="controls" role="group" aria-label="Kinds of decisions">
        {FILTERS.map((each) => (
          <button key={each} type="button" aria-pressed={each === filter} onClick={() => setFilter(each)}>
            {each[0]!.toUpperCase() + each.slice(1)}
          </button>
        ))}
      </div>
      {entries.length === 0 ? (
        <Empty title={filter === "all" ? "Nothing was decided yet" : `No ${filter} yet`}>
          A decision appears as soon as kube-scheduler asks for scores, the planner plans or the descheduler
          moves a pod.
        </Empty>
      ) : (
        <Table
          id="decisions"
          label="decisions, the newest first"
          columns={[
            { title: "When", isText: true },
            { title: "What", isText: true },
            { title: "Of", isText: true },
            { title: "Runs on", isText: true },
            { title: "Because", isText: true },
          ]}
          rows={entries.slice(0, MOST).map(rowOf)}
        />
      )}
    </>
  );
}

function rowOf(entry: Entry): { readonly key: string; readonly cells: readonly VNode[] } {
  const link = linkTo({ page: "decisions", kind: entry.kind, id: entry.id });
  if (entry.kind === "plan") {
    const { plan } = entry;
    const placed = plan.pods.filter(({ node }) => node !== null).length;
    return {
      key: `plan ${plan.id}`,
      cells: [
        <When at={plan.at} />,
        <span class="badge plan">plan</span>,
        <a href={link}>
          <Name>{plan.workflow}</Name>
        </a>,
        <span>
          {placed} of {plan.pods.length} pods
        </span>,
        <span class="because">{plan.explanation[0] ?? ""}</span>,
      ],
    };
  }
  const { decision } = entry;
  return {
    key: `decision ${decision.id}`,
    cells: [
      <When at={decision.at} />,
      <span class={`badge ${badgeOf(decision)}`}>{wordOf(decision)}</span>,
      <a href={link}>
        <Name>{decision.pod.name}</Name>
      </a>,
      <Runs decision={decision} />,
      <span class="because">{becauseOf(decision)}</span>,
    ],
  };
}

/** Where the pod is: never where it would best be. */
function Runs({ decision }: { readonly decision: Decision }): VNode {
  const { node, note } = whereOf(decision);
  return (
    <>
      {node === null ? null : <Name>{node}</Name>}
      {note === null ? null : <small class="soft note">{note}</small>}
    </>
  );
}

interface OpenedProps {
  readonly kind: "decision" | "plan";
  readonly id: string;
  readonly decisions: DecisionList | null;
  readonly plans: PlanList | null;
  readonly fault: string | null;
}

function Opened(props: OpenedProps): VNode {
  const back = (
    <p class="crumbs">
      <a href={linkTo({ page: "decisions", kind: "decision", id: null })}>Decisions</a>
    </p>
  );
  if (props.kind === "decision") return <OpenedDecision {...props} back={back} />;
  const plan = props.plans?.plans.find((each) => each.id === props.id);
  if (plan !== undefined) return <PlanView plan={plan} back={back} />;
  return <Missing {...props} back={back} isLoading={props.plans === null} />;
}

function OpenedDecision(props: OpenedProps & { readonly back: VNode }): VNode {
  const { id, decisions, back } = props;
  // The list has it as it was; asked for alone it comes with the answer of now.
  const path = `api/v1/decisions?id=${encodeURIComponent(id)}&now=true&limit=1`;
  const { data } = useJson<DecisionList>(path, { isOfNow: true });
  const known = [...(data?.decisions ?? []), ...(decisions?.decisions ?? [])];
  const decision = known.find((each) => each.id === id);
  if (decision !== undefined) return <DecisionView decision={decision} back={back} />;
  return <Missing {...props} isLoading={decisions === null} />;
}

function Missing(
  props: Pick<OpenedProps, "kind" | "fault"> & { readonly back: VNode; readonly isLoading: boolean },
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
