"""A model's `config.json` as Hugging Face publishes it, read by family. Start with `hugging_face`."""
