import type { WorkflowGraphSnapshot, WorkflowList } from "@isochrone/topology";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { costBetween, type ClusterView } from "../model/cluster-view.ts";
import { bytesPerSecond, count, cpu, figure, memory, milliseconds, percent } from "../model/format.ts";
import { movesNow, whyNoProposal, type PlanList, type Proposal, type ProposalList } from "../model/plan.ts";
import { Card, Empty, Lead, Loading, Name, Table, Trouble } from "../parts/common.tsx";
import { offLine } from "../model/off.ts";
import { useJson } from "../parts/ask.ts";
import { cluster, goTo, linkTo, moment, workflows } from "../state/store.ts";
import { Costs, Moves, sum } from "./best-plan.tsx";
import { channelCosts, withMoves, type ChannelCost } from "../model/costs.ts";
import { Dag, MAX_WORKLOADS } from "./dag.tsx";
import { matching } from "./filter.ts";

interface Chosen {
  readonly namespace: string;
  readonly name: string;
}

export function WorkflowsPage({ chosen }: { readonly chosen: Chosen | null }): VNode {
  const list = workflows.value?.workflows ?? null;
  const first = chosen ?? (list !== null && list.length > 0 ? list[0]! : null);
  return (
    <>
      <div class="page-head">
        <h1>Workflows</h1>
        {list !== null && list.length > 0 ? <Chooser list={list} chosen={first} /> : null}
      </div>
      <Lead>
        Which services call each other, on which nodes they run, and what the way between them costs.
      </Lead>
      {list === null ? (
        <Loading lines={5} />
      ) : first === null ? (
        <Card title="No workflow yet">
          <Empty title="No workflow is known">
            Pods that belong together carry the label isochrone.dev/workflow, or are found by their traffic.
            They appear here with the first metrics of theirs. {offLine("traffic")}
          </Empty>
        </Card>
      ) : (
        <One key={`${first.namespace}/${first.name}`} chosen={first} />
      )}
    </>
  );
}

function Chooser(props: { readonly list: WorkflowList["workflows"]; readonly chosen: Chosen | null }): VNode {
  const [text, setText] = useState("");
  const { shown, total } = matching(props.list, text, props.chosen);
  const key = ({ namespace, name }: Chosen): string => `${namespace}/${name}`;
  return (
    <div class="controls">
      {props.list.length > 15 ? (
        <label>
          Find
          <input
            type="search"
            value={text}
            placeholder={`among ${count(props.list.length)}`}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
      ) : null}
      <label>
        Workflow
        <select
          id="workflow-choice"
          value={props.chosen === null ? "" : key(props.chosen)}
          onChange={({ currentTarget }) => {
            const wanted = props.list.find((each) => key(each) === currentTarget.value);
            if (wanted !== undefined) goTo({ page: "workflows", workflow: wanted });
          }}
        >
          {shown.map((each) => (
            <option key={key(each)} value={key(each)}>
              {key(each)}
            </option>
          ))}
        </select>
      </label>
      {total > shown.length ? (
        <small class="soft">
          {count(total)} match; the first {shown.length} are listed
        </small>
      ) : null}
    </div>
  );
}

function One({ chosen: { namespace, name } }: { readonly chosen: Chosen }): VNode {
  const view = cluster.value!;
  const path = `api/v1/graph/workflows/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const { data: workflow, failure, status } = useJson<WorkflowGraphSnapshot>(path);
  const ofNamespace = `namespace=${encodeURIComponent(namespace)}&limit=200`;
  const plans = useJson<PlanList>(`api/v1/plans?${ofNamespace}`, { isOfNow: true });
  // Only current; without proposals the last plan is shown.
  const proposals = useJson<ProposalList>(
    moment.value === "" ? `api/v1/plans?kind=proposal&${ofNamespace}` : null,
    { isOfNow: true },
  );
  const costs = useMemo(
    () => (workflow === null ? [] : channelCosts(workflow, costBetween(view))),
    [workflow, view],
  );
  if (workflow === null) {
    if (failure === null) return <Loading lines={6} />;
    return status === 404 ? (
      <Empty title={`There is no workflow ${namespace}/${name}`}>
        It may have been removed, or not have been known at that time.
      </Empty>
    ) : (
      <Trouble title="This workflow can't be shown">{failure.text}</Trouble>
    );
  }
  const full = `${namespace}/${name}`;
  const plan = plans.data?.plans.find((each) => each.workflow === full) ?? null;
  const proposal = proposals.data?.plans.find((each) => each.workflow === full) ?? null;
  return (
    <>
      <Costs
        workflow={workflow}
        costs={costs}
        plan={plan}
        proposal={proposal}
        why={
          plans.failure === null
            ? whyNoProposal(proposals)
            : `no plans: ${plans.failure.text.replace(/^no graphs: /, "")}`
        }
      />
      <Calls workflow={workflow} view={view} costs={costs} proposal={proposal} />
      {proposal === null ? null : <Moves proposal={proposal} />}
      <Card title="Workloads">
        <Workloads workflow={workflow} view={view} />
      </Card>
    </>
  );
}

interface Drawn {
  readonly workflow: WorkflowGraphSnapshot;
  readonly costs: readonly ChannelCost[];
  readonly moved: ReadonlyMap<string, number>;
}

const NO_MOVES: ReadonlyMap<string, number> = new Map();

function Calls(props: {
  readonly workflow: WorkflowGraphSnapshot;
  readonly view: ClusterView;
  readonly costs: readonly ChannelCost[];
  readonly proposal: Proposal | null;
}): VNode {
  const { workflow, view, costs, proposal } = props;
  const [wanted, want] = useState<Placement>("today");
  const best = useMemo((): Drawn | null => {
    if (proposal === null) return null;
    const planned = withMoves(workflow, movesNow(proposal));
    return { workflow: planned, costs: channelCosts(planned, costBetween(view)), moved: movesOf(proposal) };
  }, [workflow, proposal, view]);
  const planned = wanted === "best plan" ? best : null;
  const drawn = planned ?? { workflow, costs, moved: NO_MOVES };
  const placement = planned === null ? "today" : "best plan";
  return (
    <>
      <Card
        title="Calls and placement"
        id="calls"
        aside={best === null ? undefined : <Toggle placement={placement} choose={want} />}
      >
        <Drawing view={view} {...drawn} />
      </Card>
      <Card
        title={`Channels, the most expensive first${planned === null ? "" : ": as in the best plan"}`}
        id="channels"
      >
        <Channels costs={drawn.costs} />
      </Card>
    </>
  );
}

function Drawing({ view, workflow, costs, moved }: Drawn & { readonly view: ClusterView }): VNode {
  if (workflow.workloads.length === 0) return <Empty title="This workflow has no workloads" />;
  if (workflow.workloads.length > MAX_WORKLOADS)
    return (
      <Empty title={`${count(workflow.workloads.length)} workloads are too many to draw`}>
        The tables below list the dearest channels.
      </Empty>
    );
  return <Dag workflow={workflow} view={view} costs={costs} moved={moved} />;
}

const PLACEMENTS = ["today", "best plan"] as const;
type Placement = (typeof PLACEMENTS)[number];

function Toggle(props: {
  readonly placement: Placement;
  readonly choose: (placement: Placement) => void;
}): VNode {
  return (
    <div class="buttons" role="group" aria-label="Placement that is drawn" id="placement">
      {PLACEMENTS.map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === props.placement}
          onClick={() => props.choose(each)}
        >
          {each[0]!.toUpperCase() + each.slice(1)}
        </button>
      ))}
    </div>
  );
}

function movesOf(proposal: Proposal): ReadonlyMap<string, number> {
  const moved = new Map<string, number>();
  for (const { workload } of movesNow(proposal))
    if (workload !== null) moved.set(workload, (moved.get(workload) ?? 0) + 1);
  return moved;
}

const MOST_CHANNELS = 100;

function Channels({ costs }: { readonly costs: readonly ChannelCost[] }): VNode {
  if (costs.length === 0)
    return (
      <Empty title="No traffic was seen in the window">
        Calls appear with the first metrics of a sidecar or service graph.
      </Empty>
    );
  return (
    <Table
      id="channels"
      label="channels by cost"
      columns={[
        { title: "Caller", isText: true },
        { title: "Callee", isText: true },
        { title: "Requests/s" },
        { title: "Traffic" },
        { title: "Errors" },
        { title: "Round trip" },
        { title: "Under way" },
      ]}
      rows={costs.slice(0, MOST_CHANNELS).map(({ channel, ms, cost, pair }) => ({
        key: `${channel.source}\n${channel.target}`,
        class: (channel.errorRatio ?? 0) > 0.01 ? "bad" : "",
        cells: [
          <Name>{channel.source}</Name>,
          <Name>{channel.target}</Name>,
          figure(channel.requestsPerSecond),
          bytesPerSecond(channel.bytesPerSecond),
          percent(channel.errorRatio),
          pair === null ? (
            roundTrip(ms)
          ) : (
            <a href={linkTo({ page: "pair", ...pair })} title={`${pair.source} to ${pair.target}`}>
              {roundTrip(ms)}
            </a>
          ),
          Number.isFinite(cost) ? sum(cost) : "–",
        ],
      }))}
    />
  );
}

const roundTrip = (ms: number): string =>
  ms === Number.POSITIVE_INFINITY ? "unreachable" : ms === 0 ? "same node" : milliseconds(ms);

const MOST_WORKLOADS = 200;

function Workloads({
  workflow,
}: {
  readonly workflow: WorkflowGraphSnapshot;
  readonly view: ClusterView;
}): VNode {
  return (
    <Table
      id="placements"
      label="workloads and where they are"
      columns={[
        { title: "Workload", isText: true },
        { title: "Kind", isText: true },
        { title: "CPU per pod" },
        { title: "Memory per pod" },
        { title: "On", isText: true },
        { title: "Decided by", isText: true },
      ]}
      rows={workflow.workloads
        .slice(0, MOST_WORKLOADS)
        .map(({ name, kind, cpuMillicores, memoryBytes, pods }) => ({
          key: name,
          cells: [
            <Name>{name}</Name>,
            kind,
            cpu(cpuMillicores),
            memory(memoryBytes),
            <Where pods={pods} />,
            <Why namespace={workflow.namespace} workload={name} pods={pods} />,
          ],
        }))}
    />
  );
}

type Pods = WorkflowGraphSnapshot["workloads"][number]["pods"];

/** Link to the decisions about a workload, or about its only pod. */
function Why(props: {
  readonly namespace: string;
  readonly workload: string;
  readonly pods: Pods;
}): VNode | null {
  const { namespace, workload, pods } = props;
  const [first, second] = pods;
  if (first === undefined) return null;
  const filter = { namespace, workload: second === undefined ? first.name : workload };
  return (
    <a href={linkTo({ page: "decisions", kind: "decision", id: null, filter })}>
      Why <span class="unseen">is {workload} </span>here?
    </a>
  );
}

function Where({ pods }: { readonly pods: Pods }): VNode {
  if (pods.length === 0) return <span class="soft">no pod</span>;
  const [first, ...rest] = [...new Set(pods.map(({ node }) => node ?? "not placed"))];
  return (
    <>
      <Name>{first!}</Name>
      {rest.length === 0 ? null : <span class="soft"> and {rest.length} more</span>}
    </>
  );
}

export const workflowLink = (workflow: string): string | null => {
  const slash = workflow.indexOf("/");
  return slash < 0
    ? null
    : linkTo({
        page: "workflows",
        workflow: { namespace: workflow.slice(0, slash), name: workflow.slice(slash + 1) },
      });
};
