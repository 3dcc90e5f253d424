import type { RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Empty } from "../../parts/common.tsx";
import { age, plural } from "../../model/format.ts";
import { LEVELS, QUANTITIES, type Level, type Quantity } from "../../model/route.ts";
import { DEAD, legendOf, NOTHING, SCARCE } from "../../model/scale.ts";
import type { ClusterView } from "../../model/cluster-view.ts";
import type { Picture } from "../../state/reader.ts";
import { cluster, goTo, look, reader, route, theme } from "../../state/store.ts";
import { LEAST_SAMPLES, measureOf, usualLevel, type Grid } from "../../model/grid.ts";
import { MatrixCanvas, type Point } from "./matrix-canvas.ts";
import { placeBeside } from "./viewport.ts";
import { cellWords, QUANTITY_NAMES, type CellWords } from "./matrix-words.ts";
import type { Cell } from "./scene.ts";

const LEVEL_NAMES: Readonly<Record<Level, string>> = { nodes: "Nodes", zones: "Zones", regions: "Regions" };

export function Matrix(props: MatrixProps): VNode {
  const view = cluster.value!;
  if (view.size === 0)
    return <Empty title="No node is known yet">Nodes appear as soon as the cluster lists them.</Empty>;
  return <DrawnMatrix {...props} view={view} />;
}

interface MatrixProps {
  readonly find: string;
  readonly onFind: (text: string) => void;
}

function DrawnMatrix(props: MatrixProps & { readonly view: ClusterView }): VNode {
  const { view } = props;
  const { quantity } = route.value.view;
  const level = route.value.view.level ?? usualLevel(view.size);
  const { canvas, matrix, pointed, said } = useMatrix(view, quantity, level, props.find);
  const { size } = view;
  return (
    <div class="matrix">
      <div class="controls">
        <label>
          Show
          <select
            id="quantity"
            value={quantity}
            onChange={({ currentTarget }) => look({ quantity: currentTarget.value as Quantity })}
          >
            {QUANTITIES.map((each) => (
              <option key={each} value={each}>
                {QUANTITY_NAMES[each]}
              </option>
            ))}
          </select>
        </label>
        <label>
          By
          <select
            id="level"
            value={level}
            onChange={({ currentTarget }) => look({ level: currentTarget.value as Level })}
          >
            {LEVELS.map((each) => (
              <option key={each} value={each}>
                {LEVEL_NAMES[each]}
              </option>
            ))}
          </select>
        </label>
        <label>
          Find
          <input
            id="find"
            type="search"
            placeholder="node"
            autocomplete="off"
            spellcheck={false}
            value={props.find}
            onInput={({ currentTarget }) => props.onFind(currentTarget.value)}
            onKeyDown={({ key }) => key === "Enter" && matrix.current?.goToFound()}
          />
        </label>
        <Zoom matrix={matrix} />
      </div>
      <Legend quantity={quantity} />
      <p class="readout soft">
        Rows: source node. Columns: destination node. Point at a cell, or use the arrow keys; Enter opens a
        pair.
      </p>
      <p id="readout" class="unseen" aria-live="polite">
        {said}
      </p>
      <div class="canvas-frame">
        <canvas
          ref={canvas}
          id="matrix"
          tabIndex={0}
          role="img"
          aria-label={`Matrix of ${QUANTITY_NAMES[quantity].toLowerCase()} between ${plural(size, "node")}. Arrow keys go from cell to cell, Enter opens the pair, plus and minus zoom. The tables below say the same.`}
        />
        {pointed === null ? null : <Tooltip {...pointed} />}
      </div>
    </div>
  );
}

function Zoom({ matrix }: { readonly matrix: RefObject<MatrixCanvas | null> }): VNode {
  return (
    <div class="buttons" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom in" onClick={() => matrix.current?.zoom(1.6)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" onClick={() => matrix.current?.zoom(1 / 1.6)}>
        −
      </button>
      <button type="button" onClick={() => matrix.current?.fit()}>
        Fit
      </button>
    </div>
  );
}

interface Pointed {
  readonly words: CellWords;
  readonly at: Point;
}

/** Beside the pointer where there is room. The live region says the same. */
function Tooltip({ words, at }: Pointed): VNode {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { offsetWidth, offsetHeight, style, parentElement } = box.current!;
    const { clientWidth, clientHeight } = parentElement!;
    const { left, top } = placeBeside(at, [offsetWidth, offsetHeight], [clientWidth, clientHeight]);
    style.transform = `translate(${left}px, ${top}px)`;
  });
  return (
    <div ref={box} class="tooltip" aria-hidden="true">
      <strong>{words.title}</strong>
      {words.lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
    </div>
  );
}

function useMatrix(view: ClusterView, quantity: Quantity, level: Level, find: string) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const matrix = useRef<MatrixCanvas | null>(null);
  const shown = useRef<Picture | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  /** Announced once per cell, not with each graph. */
  const [said, setSaid] = useState("");
  const current = theme.value;

  useEffect(() => {
    const opened = new MatrixCanvas(canvas.current!, {
      onCell: (cell, at) => {
        const next = pointedAt(cell, at, shown.current?.grid ?? null, cluster.peek());
        setPointed(next);
        setSaid((before) =>
          next === null ? "" : before.startsWith(`${next.words.title}: `) ? before : textOf(next.words),
        );
      },
      onGone: ({ grid }) => reader.takeBack(grid),
      onOpen: (cell) => open(cell, shown.current?.grid ?? null),
    });
    matrix.current = opened;
    return () => opened.close();
  }, []);

  useEffect(() => {
    let isGone = false;
    void reader.draw(quantity, level, current).then((picture) => {
      if (picture === null || isGone) return null;
      shown.current = picture;
      return matrix.current?.show(picture);
    });
    return () => {
      isGone = true;
    };
  }, [view, quantity, level, current]);
  useEffect(() => matrix.current?.find(find), [find]);
  return { canvas, matrix, pointed, said };
}

const textOf = ({ title, lines }: CellWords): string => `${title}: ${lines.join(", ")}`;

function pointedAt(
  cell: Cell | null,
  at: Point,
  grid: Grid | null,
  view: ClusterView | null,
): Pointed | null {
  const words = cell === null || grid === null || view === null ? null : cellWords(cell, grid, view);
  return words === null ? null : { words, at };
}

function Legend({ quantity }: { readonly quantity: Quantity }): VNode {
  const measure = measureOf(quantity);
  const current = theme.value;
  const steps = legendOf(measure, current);
  const show = (from: number): string =>
    measure === "loss"
      ? String(Number((from * 100).toPrecision(2)))
      : measure === "seconds"
        ? age(from).replace(" min", "m").replace(" s", "")
        : String(from);
  const unit = measure === "loss" ? "%" : measure === "seconds" ? "s" : "ms";
  return (
    <div class="legend" id="legend">
      <div class="scale" role="img" aria-label={`Colour scale in ${unit}, logarithmic`}>
        {steps.map(({ colour, from }) => (
          <span key={colour}>
            <i style={{ backgroundColor: colour }} />
            <small>{from === null ? "0" : show(from)}</small>
          </span>
        ))}
        <small>{unit}</small>
      </div>
      <ul class="keys">
        {quantity === "p50" ? (
          <li>
            <i class="hatched" /> estimated
          </li>
        ) : null}
        {LEAST_SAMPLES[quantity] === undefined ? null : (
          <li>
            <i class="scarce" style={{ backgroundColor: SCARCE[current] }} /> too few samples, below{" "}
            {LEAST_SAMPLES[quantity]}
          </li>
        )}
        <li>
          <i class="lossy" style={{ color: DEAD[current] }} /> loses packets
        </li>
        <li>
          <i class="stale" /> old
        </li>
        <li>
          <i style={{ backgroundColor: DEAD[current] }} /> no answer
        </li>
        <li>
          <i class="framed" style={{ backgroundColor: NOTHING[current] }} /> unknown
        </li>
      </ul>
    </div>
  );
}

function open({ row, column }: Cell, grid: Grid | null): void {
  if (grid === null || (row === column && grid.level === "nodes")) return;
  if (grid.level !== "nodes") return look({ level: "nodes" });
  goTo({ page: "pair", source: grid.labels[row]!, target: grid.labels[column]! });
}
