/**
 * Shows runs with the page's own code, outside a browser: standard input has [{graph, events, upTo}], standard output
 * what the page makes of each, {flow, meta, html}: its PIPELINE_FLOW, its NODE_META and its WorkflowGraph rendered.
 * Runs in devtools/, whose packages it uses.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const { resolve } = createRequire(join(process.cwd(), 'package.json'));
const { createServer } = await import(pathToFileURL(join(resolve('vite/package.json'), '../dist/node/index.js')));
const vite = await createServer({
  server: { middlewareMode: true, watch: null, hmr: false, ws: false },
  appType: 'custom',
  logLevel: 'error',
  optimizeDeps: { noDiscovery: true },
});
try {
  const load = (path) => vite.ssrLoadModule(path);
  const { render } = await load('svelte/server');
  const { get } = await load('svelte/store');
  const { RunViewBuilder, completed } = await load('/src/lib/model/run-view.ts');
  const { NODE_META, PIPELINE_FLOW, pipeline } = await load('/src/lib/stores/pipeline.ts');
  const { default: WorkflowGraph } = await load('/src/components/WorkflowGraph.svelte');
  const shown = JSON.parse(await text(process.stdin)).map(({ graph, events, upTo }) => {
    const builder = new RunViewBuilder();
    builder.add(events);
    const view = completed(builder.at(upTo), graph, null);
    // In a browser the component does this itself, in an effect; on a server there are none.
    pipeline.show(graph, view);
    return { flow: get(PIPELINE_FLOW), meta: get(NODE_META), html: render(WorkflowGraph, { props: { graph, view } }).body };
  });
  process.stdout.write(JSON.stringify(shown));
} finally {
  await vite.close();
}
