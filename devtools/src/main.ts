import { mount } from 'svelte';

import App from './App.svelte';
import './app.css';
import { drawsEmoji } from './lib/emoji';
import './lib/stores/theme.svelte';

const target = document.getElementById('app');
if (!target) throw new Error('index.html has no element #app');
document.documentElement.classList.toggle('without-emoji', !drawsEmoji());
export default mount(App, { target });
