import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { plural } from "../../model/format.ts";
import { shortNames } from "../../model/names.ts";
import { withMoves, type PodMove } from "../../model/request-time.ts";
import { Name, Table } from "../../parts/common.tsx";
import { theme } from "../../state/store.ts";
import { nameOfWorkload, podsOf } from "./map-pods.ts";
import { colourOfMark, shapeOfMark, type Marks } from "./workload-colours.ts";

const LONGEST_NAME = 30;
const ROWS = 12;

/** Pods by workload and name; each row's choice is the keyboard equivalent of dragging. */
export function PodList(props: {
  readonly workflow: WorkflowGraphSnapshot;
  readonly nodes: readonly string[];
  readonly moves: readonly PodMove[];
  readonly marks: Marks;
  readonly onMove: (move: PodMove) => void;
}): VNode {
  const { workflow, nodes, moves, marks, onMove } = props;
  const [find, setFind] = useState("");
  const [most, setMost] = useState(ROWS);
  const pods = podsOf(withMoves(workflow, moves));
  const wanted = find.trim().toLowerCase();
  const found = pods.filter(({ pod, workload }) => `${pod} ${workload}`.toLowerCase().includes(wanted));
  const moved = new Set(moves.map(({ pod }) => pod));
  return (
    <>
      {pods.length > ROWS ? (
        <div class="controls">
          <label>
            Find pod
            <input
              id="find-pod"
              type="search"
              autocomplete="off"
              spellcheck={false}
              value={find}
              onInput={({ currentTarget }) => setFind(currentTarget.value)}
            />
          </label>
        </div>
      ) : null}
      <Table
        id="map-pods"
        label="pods and their nodes"
        columns={[
          { title: "Pod", isText: true },
          { title: "Move to", isText: true },
        ]}
        rows={found.slice(0, most).map(({ pod, workload, node }) => ({
          key: `${workload}/${pod}`,
          class: moved.has(pod) ? "is-moved" : "",
          cells: [
            <span class="pod-name" data-pod={pod}>
              <WorkloadMark mark={marks.get(workload) ?? 0} /> <Name>{pod}</Name>{" "}
              {pod.startsWith(nameOfWorkload(workload)) ? null : <small>{nameOfWorkload(workload)}</small>}
            </span>,
            <MoveTo pod={pod} node={node} nodes={nodes} onMove={onMove} />,
          ],
        }))}
      />
      {found.length > most ? (
        <button type="button" onClick={() => setMost(most + ROWS)}>
          {`Show more of ${plural(found.length, "pod")}`}
        </button>
      ) : null}
    </>
  );
}

function WorkloadMark({ mark }: { readonly mark: number }): VNode {
  return (
    <i
      class={`workload-mark ${shapeOfMark(mark)}`}
      style={{ backgroundColor: colourOfMark(mark, theme.value) }}
    />
  );
}

function MoveTo(props: {
  readonly pod: string;
  readonly node: string | null;
  readonly nodes: readonly string[];
  readonly onMove: (move: PodMove) => void;
}): VNode {
  const { pod, node, nodes, onMove } = props;
  const options = useMemo(() => {
    const all = node === null || nodes.includes(node) ? nodes : [node, ...nodes];
    const short = shortNames(all, LONGEST_NAME);
    return all.map((name) => <option value={name}>{short.get(name)}</option>);
  }, [nodes, node]);
  return (
    <select
      aria-label={`Move ${pod} to`}
      data-pod={pod}
      value={node ?? ""}
      onChange={({ currentTarget: { value } }) => value !== "" && onMove({ pod, node: value })}
    >
      {node === null ? <option value="">no node</option> : null}
      {options}
    </select>
  );
}
