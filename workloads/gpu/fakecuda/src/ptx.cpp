#include "ptx.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <set>

namespace fakecuda {

namespace {

using Tokens = std::vector<std::string>;

// split cuts the text into words and single signs, without comments.
Tokens split(const std::string &text) {
	Tokens out;
	std::string word;
	auto end = [&] {
		if (!word.empty()) out.push_back(word);
		word.clear();
	};
	for (size_t i = 0; i < text.size(); i++) {
		char c = text[i];
		if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
			i = text.find('\n', i);
			if (i == std::string::npos) break;
			end();
		} else if (isspace(static_cast<unsigned char>(c))) {
			end();
		} else if (std::string("(),;{}[]:").find(c) != std::string::npos) {
			end();
			out.emplace_back(1, c);
		} else {
			word += c;
		}
	}
	end();
	return out;
}

// Reader goes through the tokens once. Past their end it sees empty ones.
class Reader {
public:
	Reader(const Tokens &tokens, PTX &out) : tokens(tokens), out(out) {}

	std::string read() {
		while (at < tokens.size()) {
			auto word = next();
			if (word == ".version") out.version = tenths(next());
			else if (word == ".target") target(next());
			else if (word == ".visible") visible();
			else if (word == ".weak" && peek() == ".shared") ofTemplate();
		}
		if (out.version == 0) return "there is no .version";
		if (out.target == 0) return "there is no .target";
		return "";
	}

private:
	const std::string &peek() const { return at < tokens.size() ? tokens[at] : none; }
	const std::string &next() { return at < tokens.size() ? tokens[at++] : none; }

	static int tenths(const std::string &version) {
		auto dot = version.find('.');
		return atoi(version.c_str()) * 10 + (dot == std::string::npos ? 0 : atoi(version.c_str() + dot + 1));
	}

	void target(const std::string &name) {
		if (name.rfind("sm_", 0) != 0) return;
		out.target = atoi(name.c_str() + 3);
		out.specific = !isdigit(static_cast<unsigned char>(name.back()));
	}

	void visible() {
		auto what = next();
		if (what == ".entry") entry();
		else if (what == ".const" || what == ".global") out.variables.push_back(declaration());
	}

	// Shared memory of a template stands before the kernels that use it.
	void ofTemplate() {
		next();
		auto s = declaration();
		shared[s.name] = s.size;
	}

	// declaration is .align 4 .b8 name[64], or .u64 name; the size is in bytes.
	Symbol declaration() {
		Symbol s;
		size_t size = 1;
		while (at < tokens.size() && peek() != "," && peek() != ";" && peek() != ")" && peek() != "{") {
			auto word = next();
			if (word == ".align") next();
			else if (word == "[") size *= size_t(atol(next().c_str()));
			else if (word[0] == '.') size = bits(word) / 8;
			else if (word != "]" && s.name.empty()) s.name = word;
		}
		s.size = size;
		return s;
	}

	static size_t bits(const std::string &type) {
		auto digit = type.find_first_of("0123456789");
		return digit == std::string::npos ? 8 : size_t(atol(type.c_str() + digit));
	}

	void entry() {
		Entry e;
		e.name = next();
		while (at < tokens.size() && peek() != "{") {
			auto word = next();
			if (word == ".param") e.parameters.push_back(declaration().size);
			else if (word == ".maxntid" || word == ".reqntid") e.maxThreads = threads();
		}
		body(e);
		out.entries.push_back(e);
	}

	unsigned threads() {
		unsigned n = unsigned(atol(next().c_str()));
		while (peek() == ",") {
			next();
			n *= unsigned(atol(next().c_str()));
		}
		return n;
	}

	void body(Entry &e) {
		int depth = 0;
		std::set<std::string> used;
		do {
			auto word = next();
			if (word == "{") depth++;
			else if (word == "}") depth--;
			else if (word == ".shared") e.shared += declaration().size;
			auto it = shared.find(word.substr(0, word.find('+')));
			if (it != shared.end() && used.insert(it->first).second) e.shared += it->second;
		} while (depth > 0 && at < tokens.size());
	}

	const Tokens &tokens;
	PTX &out;
	size_t at = 0;
	std::map<std::string, size_t> shared;
	const std::string none;
};

} // namespace

std::string read(const char *text, PTX &out) {
	std::string all(text);
	for (unsigned char c : all)
		if (!isprint(c) && !isspace(c)) return "there are bytes that are no text: does the image end in a zero byte?";
	return Reader(split(all), out).read();
}

// CUDA 11.0 came with PTX 7.0, 12.0 with 8.0 and 13.0 with 9.0, and each of its minor
// versions with one of PTX until 12.5; 10.0 came with 6.3.
int newest(int driver) {
	int major = driver / 1000, minor = driver % 1000 / 10;
	if (major <= 10) return 63 + minor;
	if (major == 12 && minor >= 6) minor--;
	return 70 + 10 * (major - 11) + minor;
}

} // namespace fakecuda
