import type { Act, ActList } from "@isochrone/topology";
import type { VNode } from "preact";
import { milliseconds, percent, plural, UNKNOWN } from "../model/format.ts";
import { Empty, Name, Table, When } from "../parts/common.tsx";
import { linkTo } from "../state/store.ts";
import { badgeOfVerdict, isFiltered, nodesOf, sentenceWithout, type ActFilter } from "./act-words.ts";

export function Acts({
  list,
  filter,
}: {
  readonly list: ActList;
  readonly filter: ActFilter | undefined;
}): VNode {
  if (list.acts.length === 0)
    return (
      <Empty title={isFiltered(filter) ? "No decision matches these filters" : "Nothing was decided yet"}>
        A decision appears as soon as kube-scheduler asks for scores, the planner plans or the descheduler
        moves a pod. A pod that none of them touched was placed by kube-scheduler without the network.
      </Empty>
    );
  return (
    <>
      <Table
        id="decisions"
        label="decisions by act, the newest first"
        columns={[
          { title: "When", isText: true },
          { title: "What", isText: true },
          { title: "Of", isText: true },
          { title: "From", isText: true, lack: "no pod was moved" },
          { title: "To", isText: true },
          { title: "Expected", lack: "only moves and proposals promise a gain" },
          { title: "Counted", lack: "no channels of moved pods were measured again" },
          { title: "Promise", isText: true },
        ]}
        rows={list.acts.map((act) => ({
          key: `${act.kind} ${act.id}`,
          cells: cellsOf(act, filter?.workload ?? ""),
        }))}
      />
      {list.leftOut > 0 || list.isCut ? (
        <p class="soft">
          {list.leftOut > 0 ? `${plural(list.leftOut, "older act")} left out: set a filter. ` : ""}
          {list.isCut ? "Only the newest decisions are grouped: the oldest act may be incomplete." : ""}
        </p>
      ) : null}
    </>
  );
}

function cellsOf(act: Act, sought: string): readonly (VNode | string)[] {
  const { at, kind, expected, counted, verdict } = act;
  return [
    <When at={at} />,
    <span class={`badge ${kind === "move" ? "eviction" : kind}`}>{kind}</span>,
    <Pods act={act} sought={sought} />,
    nodeCell(nodesOf(act, "from")),
    nodeCell(nodesOf(act, "to")),
    expectedCell(expected),
    counted === null ? UNKNOWN : changeCell(counted.beforeMs, counted.afterMs, counted.gainRatio),
    <span class="promise">
      <span class={`badge ${badgeOfVerdict(verdict)}`}>{verdict.replaceAll("_", " ")}</span>
      <Verdict {...act} />
    </span>,
  ];
}

/** The sentence without the badge's word. */
function Verdict({ verdict, sentence }: Pick<Act, "verdict" | "sentence">): VNode | null {
  const rest = sentenceWithout(verdict, sentence);
  return rest === "" ? null : <small class="soft note">{rest}</small>;
}

function expectedCell(expected: Act["expected"]): VNode | string {
  if (expected === null) return UNKNOWN;
  const { beforeMs, afterMs, gainRatio, gainErrorRatio } = expected;
  const isNothing = beforeMs === null && gainRatio === null;
  return isNothing ? UNKNOWN : changeCell(beforeMs, afterMs, gainRatio, gainErrorRatio);
}

function changeCell(
  beforeMs: number | null,
  afterMs: number | null,
  gainRatio: number | null,
  errorRatio: number | null = null,
): VNode {
  const error = errorRatio === null ? "" : ` ± ${percent(errorRatio)}`;
  const share =
    gainRatio === null ? null : `${percent(Math.abs(gainRatio))}${error} ${gainRatio < 0 ? "more" : "less"}`;
  const isTimed = beforeMs !== null && afterMs !== null;
  return (
    <>
      {isTimed ? `${milliseconds(beforeMs)} → ${milliseconds(afterMs)}` : share}
      {isTimed && share !== null ? <small class="soft note">{share}</small> : null}
    </>
  );
}

function nodeCell(names: readonly string[]): VNode | string {
  const [first] = names;
  if (first === undefined) return UNKNOWN;
  return names.length === 1 ? (
    <Name>{first}</Name>
  ) : (
    <span title={names.join(", ")}>{names.length} nodes</span>
  );
}

/** Unfolded and filtered by the requested pod names, if any. */
function Pods({ act, sought }: { readonly act: Act; readonly sought: string }): VNode {
  const { pods, planned, workflow, workloads, kind, id } = act;
  const [only] = pods;
  if (only !== undefined && planned === 1 && kind !== "plan" && kind !== "proposal")
    return <PodName pod={only} />;
  const share =
    pods.length < planned ? `${pods.length} of ${plural(planned, "pod")}` : plural(planned, "pod");
  const owner = workloads.length === 1 ? workloads[0]! : (workflow ?? "");
  const found = sought === "" ? [] : pods.filter(({ name }) => name.includes(sought));
  const shown = found.length > 0 ? found : pods;
  return (
    <details class="fold act" open={sought !== ""}>
      <summary>
        {share} of <Name>{owner}</Name>
      </summary>
      <ul>
        {shown.map((pod) => (
          <li key={`${pod.decision ?? ""} ${pod.name}`}>
            <PodName pod={pod} />
            {pod.from === null ? null : (
              <>
                {" "}
                from <Name>{pod.from}</Name>
              </>
            )}
            {pod.to === null ? null : (
              <>
                {" "}
                to <Name>{pod.to}</Name>
              </>
            )}
            : {pod.state}
            {pod.node === null || pod.node === pod.to || pod.node === pod.from ? null : (
              <>
                , runs on <Name>{pod.node}</Name>
              </>
            )}
          </li>
        ))}
      </ul>
      {kind === "plan" ? (
        <p>
          <a href={linkTo({ page: "decisions", kind: "plan", id })}>The whole plan</a>
        </p>
      ) : null}
    </details>
  );
}

function PodName({ pod: { name, decision } }: { readonly pod: Act["pods"][number] }): VNode {
  if (decision === null) return <Name>{name}</Name>;
  return (
    <a href={linkTo({ page: "decisions", kind: "decision", id: decision })}>
      <Name>{name}</Name>
    </a>
  );
}
