// Runs an agent over AG-UI with the protocol's own client, and prints what that client made of it, one line of JSON.
// Usage: node agui_client.mjs URL [TEXT [RESUME]]; the package is the one in devtools/node_modules.
import { createRequire } from 'node:module';

const require = createRequire(new URL('../../devtools/package.json', import.meta.url));
const { HttpAgent } = require('@ag-ui/client');

const [url, thread, text, answer, props] = process.argv.slice(2);
const agent = new HttpAgent({ url, threadId: thread });
const events = [];
const outcomes = [];

async function run(parameters) {
  let failed = null;
  await agent.runAgent(parameters, {
    onEvent: ({ event }) => { events.push(event); },
    onRunFinishedEvent: (params) => { outcomes.push(params.event.outcome ?? null); },
    onRunErrorEvent: ({ event }) => { failed = event; },
  }).catch((error) => { failed ??= { message: String(error) }; });
  return failed;
}

agent.addMessage({ id: 'said', role: 'user', content: text });
const forwardedProps = props ? JSON.parse(props) : {};
let failed = await run({ forwardedProps });
if (answer) {
  const [asked] = outcomes.at(-1).interrupts;
  failed = await run({ resume: [{ interruptId: asked.id, status: 'resolved', payload: answer }] });
}
console.log(JSON.stringify({ events, outcomes, failed, messages: agent.messages }));
